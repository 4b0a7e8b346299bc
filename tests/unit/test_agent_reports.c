/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's reports: the daemon's reader accepts every message, for any numbers and any locale; and a
 * full, dead or missing socket never blocks a step.  If anything blocks, SIGALRM ends the test.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/message.h"
#include "wire/report.h"

static struct wire_report parse (const char *text, size_t length)
{
    struct wire_report report;
    struct pollux_error err = {.text = ""};
    if (wire_report_parse ("hints", text, length, &report, &err) < 0)
        fail_msg ("%s: %.*s", err.text, (int)length, text);
    return report;
}

/* What was measured, on nodes without a type. */
static struct type_profiles measured (const struct pollux_model *model)
{
    struct type_profiles types = {.count = 1};
    types.items[0] = (struct type_profile){.fitted = true, .model = *model, .max_local = 512};
    types.items[0].profile.max_replicas = 4;
    return types;
}

static struct message message_of (const struct type_profiles *types)
{
    return (struct message){.generation = 3,
                            .types = types,
                            .grad = {.sqr = 0.3, .var = 4.1, .gain_max = 8},
                            .limits = {128, 8192, 16, 512, true},
                            .progress = 1000.5,
                            .total = 20000,
                            .batch = {64, 1},
                            .step_s = 0.123456789,
                            .rate_factor = 2.5};
}

static void test_message_comes_back (void **unused)
{
    (void)unused;
    const struct pollux_model model = {1. / 3, 1e-8, 2. / 7, 1e-5, 0.1, 1e-300, 1.7};
    struct type_profiles types = measured (&model);
    struct message message = message_of (&types);
    char text[MESSAGE_SIZE];
    size_t length = message_write (&message, text);
    struct wire_report report = parse (text, length);
    const struct hints *hints = &report.report.hints;
    assert_int_equal (report.version, 1);
    assert_int_equal (report.generation, 3);
    assert_true (hints->has_model);
    assert_memory_equal (&hints->model, &model, sizeof (model));
    assert_true (hints->grad.sqr == 0.3 && hints->grad.var == 4.1 && hints->grad.gain_max == 8);
    assert_true (hints->limits.init_batch == 128 && hints->limits.max_batch == 8192 &&
                 hints->limits.min_local == 16 && hints->limits.max_local == 512 &&
                 hints->limits.accumulation);
    assert_int_equal (hints->max_profiled_replicas, 4);
    assert_true (hints->progress == 1000.5 && hints->total == 20000);
    assert_true (report.report.batch.m == 64 && report.report.batch.s == 1);
    assert_true (hints->step_s == 0.123457 && hints->rate_factor == 2.5); /* six digits */
    /* Without a model, a total, a generation. */
    types.items[0].fitted = false;
    message.total = 0;
    report = parse (text, message_write (&message, text));
    assert_false (report.report.hints.has_model);
    assert_true (isnan (report.report.hints.total));
    message.generation = 0;
    assert_int_equal (message_write (&message, text), 0);
}

/* Any numbers give a message that fits and is accepted. */
static void test_message_of_any_numbers (void **unused)
{
    (void)unused;
    static const double strange[] = {0,      -1,   NAN,  INFINITY, -INFINITY, 1e308,
                                     1e-320, 1e12, 1e13, 1,        0.1,       1e18};
    struct rng rng = rng_seed (1);
    for (int round = 0; round < soak_count (20000); round++) {
        double x[12];
        for (size_t i = 0; i < COUNT (x); i++)
            x[i] = rng_below (&rng, 2) ? strange[rng_below (&rng, COUNT (strange))]
                                       : log_uniform (&rng, 1e-300, 1e300);
        const struct pollux_model model = {x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
        struct type_profiles types = measured (&model);
        struct message message = message_of (&types);
        message.grad = (struct pollux_grad){.sqr = x[7], .var = x[8]};
        message.progress = x[9];
        message.total = x[10];
        message.batch = (struct pollux_batch){(int64_t)rng_below (&rng, 3), -1};
        message.step_s = x[11];
        message.rate_factor = x[rng_below (&rng, COUNT (x))];
        message.limits.max_batch = POLLUX_BATCH_LIMIT;
        char text[MESSAGE_SIZE];
        size_t length = message_write (&message, text);
        assert_in_range (length, 1, MESSAGE_SIZE - 1);
        parse (text, length);
    }
}

/* The names of eight types and their models fit.  The first model is that of the present type, or of the
 * last one as long as the present one has none. */
static void test_message_with_types (void **unused)
{
    (void)unused;
    const struct pollux_model model = {1. / 3, 1e-8, 2. / 7, 1e-5, 0.1, 1e-300, 1.7};
    struct type_profiles types = {.count = TYPES_LIMIT};
    for (int i = 0; i < TYPES_LIMIT; i++) {
        types.items[i] = measured (&model).items[0];
        types.items[i].model.gamma = 1 + i / 8.;
        types.items[i].max_local = 512 + i;
        memset (types.items[i].type, 'a' + i, TYPE_SIZE - 1);
    }
    struct message message = message_of (&types);
    char text[MESSAGE_SIZE];
    struct wire_report report = parse (text, message_write (&message, text));
    struct hints *hints = &report.report.hints;
    assert_string_equal (hints->type, types.items[0].type);
    assert_int_equal (hints->other_count, TYPES_LIMIT - 1);
    for (int i = 0; i < hints->other_count; i++) {
        assert_string_equal (hints->others[i].type, types.items[i + 1].type);
        assert_true (hints->others[i].model.gamma == types.items[i + 1].model.gamma);
        assert_int_equal (hints->others[i].max_local, 513 + i);
        assert_int_equal (hints->others[i].max_profiled_replicas, 4);
    }
    /* A type with a smaller largest batch than the smallest one of this run is left out. */
    types.items[3].max_local = message.limits.min_local - 1;
    report = parse (text, message_write (&message, text));
    assert_int_equal (hints->other_count, TYPES_LIMIT - 2);
    types.items[3].max_local = 515;
    types.items[0].fitted = types.items[2].fitted = false;
    report = parse (text, message_write (&message, text));
    assert_string_equal (hints->type, types.items[1].type);
    assert_true (hints->has_model && hints->model.gamma == types.items[1].model.gamma);
    assert_int_equal (hints->limits.max_local, 513);
    assert_int_equal (hints->other_count, TYPES_LIMIT - 3);
}

/* A program may have set a locale with a decimal comma. */
static void test_message_in_any_locale (void **unused)
{
    (void)unused;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < COUNT (names); i++) {
        if (!setlocale (LC_ALL, names[i]))
            continue;
        const struct pollux_model model = {0.25, 0.5, 0.125, 1.5, 2.5, 3.5, 4.5};
        struct type_profiles types = measured (&model);
        struct message message = message_of (&types);
        char text[MESSAGE_SIZE];
        size_t length = message_write (&message, text);
        setlocale (LC_ALL, "C");
        struct wire_report report = parse (text, length);
        assert_memory_equal (&report.report.hints.model, &model, sizeof (model));
    }
    setlocale (LC_ALL, "C");
}

/* ---- Sockets -------------------------------------------------------------------------------- */

struct place {
    char directory[64], path[96];
    int socket; /* -1: none */
};

static int make_place (void **state)
{
    struct place *place = calloc (1, sizeof (*place));
    if (!place)
        return -1;
    snprintf (place->directory, sizeof (place->directory), "%s/pollux-test-XXXXXX",
              temporary_folder ());
    place->socket = -1;
    *state = place;
    alarm (60);
    if (!mkdtemp (place->directory))
        return -1;
    snprintf (place->path, sizeof (place->path), "%s/agent.sock", place->directory);
    setenv ("POLLUX_SOCKET", place->path, 1);
    setenv ("POLLUX_GENERATION", "2", 1);
    return 0;
}

static int remove_place (void **state)
{
    struct place *place = *state;
    unlink (place->path);
    rmdir (place->directory);
    if (place->socket >= 0)
        close (place->socket);
    unsetenv ("POLLUX_SOCKET");
    unsetenv ("POLLUX_GENERATION");
    free (place);
    alarm (0);
    return 0;
}

static void listen_at (struct place *place, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy (address.sun_path, place->path);
    place->socket = socket (AF_UNIX, type | SOCK_NONBLOCK, 0);
    assert_int_equal (bind (place->socket, (struct sockaddr *)&address, sizeof (address)), 0);
}

static double clock_of (void *context)
{
    return *(double *)context;
}

static struct pollux_agent *agent_open (double *clock_s)
{
    struct pollux_setup setup;
    struct pollux_agent *agent;
    pollux_setup_default (64, &setup);
    setup.limits.max_batch = 512;
    setup.total = 1e6;
    assert_int_equal (pollux_agent_open (&setup, &agent, NULL), 0);
    agent->now_s = clock_of;
    agent->clock = clock_s;
    return agent;
}

static struct pollux_advice step (struct pollux_agent *agent, double *clock_s)
{
    size_t count;
    struct pollux_advice advice;
    double one = 1, two = 2;
    pollux_agent_step_begin (agent);
    *clock_s += 0.1;
    assert_int_equal (pollux_agent_gradients_single (agent, &one, &two, NULL), 0);
    pollux_agent_decide (agent, &count);
    assert_int_equal (pollux_agent_follow (agent, &advice, NULL), 0);
    pollux_agent_step_end (agent);
    return advice;
}

/* Read all messages from the socket; the last one in *ret. */
static int drain (struct place *place, struct wire_report *ret)
{
    char text[MESSAGE_SIZE];
    int count = 0;
    for (ssize_t length; (length = recv (place->socket, text, sizeof (text), 0)) > 0; count++)
        *ret = parse (text, (size_t)length);
    return count;
}

static void test_reports_arrive (void **state)
{
    struct place *place = *state;
    struct wire_report report = {0};
    double clock_s = 0;
    listen_at (place, SOCK_DGRAM);
    struct pollux_agent *agent = agent_open (&clock_s);
    step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1);
    assert_int_equal (report.generation, 2);
    assert_false (report.report.hints.has_model);
    for (int i = 0; i < 50; i++)
        step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1); /* the first fit is news */
    assert_true (report.report.hints.has_model);
    assert_int_equal (report.report.hints.max_profiled_replicas, 1);
    assert_true (report.report.hints.step_s > 0 && report.report.hints.rate_factor >= 1);
    /* Then one per 30 s. */
    for (int i = 0; i < 3000; i++)
        step (agent, &clock_s);
    assert_in_range (drain (place, &report), 9, 11);
    assert_true (report.report.hints.total == 1e6 && report.report.hints.progress > 1000);
    /* The final progress is sent at once when it stops. */
    pollux_agent_stop (agent);
    assert_int_equal (step (agent, &clock_s).verdict, POLLUX_STOP);
    step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1);
    struct pollux_status status;
    pollux_agent_status (agent, &status);
    assert_int_equal (status.reports_lost, 0);
    pollux_agent_close (agent);
    assert_int_equal (drain (place, &report), 0);
    agent = agent_open (&clock_s);
    pollux_agent_close (agent);
    assert_int_equal (drain (place, &report), 1);
}

/* The socket is not read: its buffer is full, and steps continue. */
static void test_full (void **state)
{
    struct place *place = *state;
    double clock_s = 0;
    struct pollux_status status;
    listen_at (place, SOCK_DGRAM);
    struct pollux_agent *agent = agent_open (&clock_s);
    for (int i = 0; i < 3000; i++) {
        clock_s += 30;
        step (agent, &clock_s);
    }
    pollux_agent_status (agent, &status);
    assert_true (status.reports_sent > 0 && status.reports_lost > 1000);
    assert_int_equal (status.report_error, EAGAIN);
    assert_int_equal (status.reports_sent + status.reports_lost, 3000);
    /* The socket is read again. */
    struct wire_report report = {0};
    drain (place, &report);
    clock_s += 30;
    step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1);
    pollux_agent_close (agent);
}

/* The reader dies, its socket is removed, and a new one has the same path. */
static void test_dead_and_back (void **state)
{
    struct place *place = *state;
    double clock_s = 0;
    struct pollux_status status;
    struct wire_report report = {0};
    listen_at (place, SOCK_DGRAM);
    struct pollux_agent *agent = agent_open (&clock_s);
    step (agent, &clock_s);
    close (place->socket);
    clock_s += 30;
    step (agent, &clock_s);
    pollux_agent_status (agent, &status);
    assert_int_equal (status.report_error, ECONNREFUSED);
    unlink (place->path);
    clock_s += 30;
    step (agent, &clock_s);
    pollux_agent_status (agent, &status);
    assert_int_equal (status.report_error, ENOENT);
    listen_at (place, SOCK_DGRAM);
    clock_s += 30;
    step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1);
    pollux_agent_close (agent);
}

/* The path is not a socket. */
static void test_no_socket_of_ours (void **state)
{
    struct place *place = *state;
    double clock_s = 0;
    struct pollux_status status;
    for (int kind = 0; kind < 4; kind++) {
        char longer[200];
        memset (longer, 'x', sizeof (longer));
        longer[199] = '\0';
        if (kind == 0)
            listen_at (place, SOCK_STREAM);
        else if (kind == 1)
            assert_int_equal (mkfifo (place->path, 0600), 0);
        else if (kind == 2)
            close (open (place->path, O_CREAT | O_WRONLY, 0600));
        else
            setenv ("POLLUX_SOCKET", longer, 1);
        struct pollux_agent *agent = agent_open (&clock_s);
        for (int i = 0; i < 20; i++) {
            clock_s += 30;
            step (agent, &clock_s);
        }
        pollux_agent_status (agent, &status);
        assert_int_equal (status.reports_sent, 0);
        assert_true (status.report_error != 0);
        pollux_agent_close (agent);
        unlink (place->path);
    }
}

/* A child of fork has the socket, but sends nothing. */
static void test_child_is_silent (void **state)
{
    struct place *place = *state;
    double clock_s = 0;
    struct wire_report report = {0};
    listen_at (place, SOCK_DGRAM);
    struct pollux_agent *agent = agent_open (&clock_s);
    step (agent, &clock_s);
    drain (place, &report);
    pid_t child = fork ();
    if (child == 0) {
        size_t count;
        clock_s += 1000;
        pollux_agent_decide (agent, &count);
        pollux_agent_close (agent);
        _exit (0);
    }
    waitpid (child, NULL, 0);
    assert_int_equal (drain (place, &report), 0);
    clock_s += 30;
    step (agent, &clock_s);
    assert_int_equal (drain (place, &report), 1);
    pollux_agent_close (agent);
}

/* Only replica 0 of a generation reports. */
static void test_who_reports (void **state)
{
    struct place *place = *state;
    struct wire_report report = {0};
    struct pollux_setup setup;
    struct pollux_agent *agent;
    listen_at (place, SOCK_DGRAM);
    pollux_setup_default (64, &setup);
    setup.world = (struct pollux_world){.rank = 1, .shape = {1, 2}, .generation = 2};
    assert_int_equal (pollux_agent_open (&setup, &agent, NULL), 0);
    pollux_agent_close (agent);
    setup.world = (struct pollux_world){.shape = {1, 2}};
    assert_int_equal (pollux_agent_open (&setup, &agent, NULL), 0);
    pollux_agent_close (agent);
    assert_int_equal (drain (place, &report), 0);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_message_comes_back),
        cmocka_unit_test (test_message_of_any_numbers),
        cmocka_unit_test (test_message_with_types),
        cmocka_unit_test (test_message_in_any_locale),
        TEST (test_reports_arrive),
        TEST (test_full),
        TEST (test_dead_and_back),
        TEST (test_no_socket_of_ours),
        TEST (test_child_is_silent),
        TEST (test_who_reports),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
