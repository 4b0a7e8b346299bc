/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands beside an event loop: programs in the place of Slurm's commands that hang, fail, write
 * garbage or too much, are killed, or leave descendants behind.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/command_set.h"
#include "base/clock.h"

/* What a command's `done` was told. */
struct record {
    int calls, code, exit_code, signal;
    uint64_t id;
    char *output, *error;
    size_t output_length;
    struct pollux_error why;
    bool took_time;
};

static void note (void *user, const struct command_result *result)
{
    struct record *record = user;
    record->calls++;
    record->id = result->id;
    record->code = result->code;
    record->exit_code = result->exit_code;
    record->signal = result->signal;
    record->output = malloc (result->output_length + 1);
    memcpy (record->output, result->output, result->output_length + 1);
    record->output_length = result->output_length;
    record->error = strdup (result->error);
    record->why = result->why;
    record->took_time = result->ended_us >= result->began_us;
}

static void record_clear (struct record *record)
{
    free (record->output);
    free (record->error);
    *record = (struct record){0};
}

static struct command_set *set_new (void)
{
    struct command_set *set;
    struct pollux_error err = {.text = ""};
    if (command_set_new (&set, &err) < 0)
        fail_msg ("%s", err.text);
    return set;
}

/* Start a shell script; deadline_us 0: none, else from now on. */
static uint64_t start (struct command_set *set, const char *script, int64_t deadline_us,
                       struct record *record)
{
    const char *words[] = {"sh", "-c", script, NULL};
    int64_t now_us = clock_monotonic_us ();
    struct command_request request = {.words = words,
                                      .deadline_us = deadline_us ? now_us + deadline_us : 0,
                                      .done = note,
                                      .user = record};
    struct pollux_error err = {.text = ""};
    uint64_t id = 0;
    if (command_set_start (set, &request, now_us, &id, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (id > 0);
    return id;
}

/* Run a script to its end, with a deadline that is not reached. */
static struct record run (const char *script)
{
    struct command_set *set = set_new ();
    struct record record = {0};
    uint64_t id = start (set, script, 60000000, &record);
    command_set_wait (set, id);
    assert_int_equal (record.calls, 1);
    assert_true (record.id == id && record.took_time);
    assert_int_equal (command_set_count (set), 0);
    assert_true (command_set_due_us (set) == INT64_MAX);
    command_set_free (set);
    return record;
}

static void test_ends (void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int code, exit_code, signal;
        const char *output, *error, *why;
    } cases[] = {
        {"echo one; echo two >&2", 0, 0, 0, "one\n", "two\n", ""},
        {"exit 0", 0, 0, 0, "", "", ""},
        {"echo half; echo 'no such partition' >&2; echo more >&2; exit 3", -EREMOTEIO, 3, 0,
         "half\n", "no such partition\nmore\n", "sh exited with 3: 'no such partition'"},
        {"exit 1", -EREMOTEIO, 1, 0, "", "", "sh exited with 1"},
        {"kill -9 $$", -EINTR, -1, 9, "", "", "sh was ended by signal 9"},
        {"echo x >&2; kill -TERM $$", -EINTR, -1, 15, "", "x\n", "sh was ended by signal 15: 'x'"},
        /* Terminal sequences and broken UTF-8 in a message are made harmless. */
        {"printf '\\033[2J\\377' >&2; exit 1", -EREMOTEIO, 1, 0, "", "\033[2J\377",
         "sh exited with 1: '?[2J?'"},
        {"cat", 0, 0, 0, "", "", ""}, /* the standard input is empty */
        {"pwd", 0, 0, 0, "/\n", "", ""},
        {"awk '{ print $6 == $1 }' /proc/$$/stat", 0, 0, 0, "1\n", "", ""}, /* its own session */
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct record record = run (cases[i].script);
        if (record.code != cases[i].code || strcmp (record.output, cases[i].output) != 0 ||
            strcmp (record.error, cases[i].error) != 0)
            fail_msg ("'%s': %d '%s' '%s'", cases[i].script, record.code, record.output,
                      record.error);
        assert_int_equal (record.exit_code, cases[i].exit_code);
        assert_int_equal (record.signal, cases[i].signal);
        assert_string_equal (record.why.text, cases[i].why);
        record_clear (&record);
    }
}

static void test_input_and_environment (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    static const char *const words[] = {
        "sh", "-c", "wc -c; echo \"$A $SQUEUE_FORMAT $LC_ALL $SLURM_TIME_FORMAT $SLURM_CONF\"; pwd",
        NULL};
    static const char *const environment[] = {"A=b c", NULL};
    size_t length = 3 << 20; /* more than a pipe holds */
    char *text = malloc (length);
    struct record record = {0};
    uint64_t id;
    memset (text, 'x', length);
    struct command_request request = {.words = words,
                                      .input = text,
                                      .input_length = length,
                                      .environment = environment,
                                      .directory = "/usr",
                                      .done = note,
                                      .user = &record};
    setenv ("SQUEUE_FORMAT", "wrong", 1);
    setenv ("SLURM_CONF", "/etc/some.conf", 1);
    assert_int_equal (command_set_start (set, &request, 0, &id, NULL), 0);
    free (text);
    command_set_wait (set, id);
    unsetenv ("SQUEUE_FORMAT");
    unsetenv ("SLURM_CONF");
    assert_string_equal (record.output, "3145728\nb c  C %s /etc/some.conf\n/usr\n");
    record_clear (&record);
    command_set_free (set);
}

static void test_not_started (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    static const char *const words[] = {"squeue-that-is-not-there", NULL};
    struct command_request request = {.words = words};
    struct pollux_error err = {.text = ""};
    uint64_t id = 7;
    assert_int_equal (command_set_start (set, &request, 0, &id, &err), -ENOENT);
    assert_non_null (strstr (err.text, "squeue-that-is-not-there"));
    assert_non_null (strstr (err.text, "PATH"));
    assert_int_equal (id, 7);
    assert_int_equal (command_set_count (set), 0);
    command_set_free (set);
    command_set_free (NULL);
}

/* Wait until no process is left that holds the write end of a pipe. */
static void expect_end_of_pipe (int file)
{
    char byte;
    ssize_t got = read (file, &byte, 1);
    assert_int_equal (got, 0);
}

/* A command that hangs, and its child, are killed at the deadline; others of the set go on. */
static void test_deadline (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    struct record slow = {0}, other = {0};
    int ends[2];
    char script[128];
    assert_int_equal (pipe (ends), 0);
    snprintf (script, sizeof (script), "echo begun; echo why >&2; sleep 1000 & exec sleep 1000");
    uint64_t late = start (set, script, 300000, &slow);
    uint64_t good = start (set, "read x; sleep 1000", 0, &other);
    assert_true (command_set_due_us (set) < INT64_MAX);
    close (ends[1]); /* only the commands hold it now */
    assert_int_equal (command_set_count (set), 2);
    command_set_wait (set, late);
    assert_int_equal (slow.code, -ETIMEDOUT);
    assert_string_equal (slow.output, "begun\n");
    assert_non_null (strstr (slow.why.text, "did not end within"));
    assert_non_null (strstr (slow.why.text, "why"));
    assert_int_equal (command_set_pid (set, late), 0);
    assert_false (command_set_cancel (set, late));
    assert_int_equal (other.calls, 0);
    assert_int_equal (command_set_count (set), 1);
    assert_true (command_set_pid (set, good) > 0);
    command_set_wait (set, good + 1); /* no such command: returns */
    command_set_free (set);           /* kills the other one */
    expect_end_of_pipe (ends[0]);
    assert_int_equal (other.calls, 0);
    close (ends[0]);
    record_clear (&slow);
    assert_int_equal (waitpid (-1, NULL, WNOHANG), -1); /* all are reaped */
}

/* Too much output: killed, with what fits; too much on standard error: cut, and the command goes on. */
static void test_flood (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    static const char *const words[] = {"sh", "-c", "exec yes", NULL};
    struct record record = {0};
    struct command_request request = {
        .words = words, .output_limit = 100000, .done = note, .user = &record};
    uint64_t id;
    assert_int_equal (command_set_start (set, &request, 0, &id, NULL), 0);
    command_set_wait (set, id);
    assert_int_equal (record.code, -EFBIG);
    assert_int_equal (record.output_length, 100000);
    assert_non_null (strstr (record.why.text, "sh wrote more than 100000 bytes"));
    record_clear (&record);
    command_set_free (set);
    record = run ("head -c 1000000 /dev/zero | tr '\\0' e >&2; echo good");
    assert_int_equal (record.code, 0);
    assert_string_equal (record.output, "good\n");
    assert_int_equal (strlen (record.error), COMMAND_ERROR_LIMIT);
    record_clear (&record);
    /* Several megabytes below the limit arrive whole. */
    record = run ("head -c 9000000 /dev/zero | tr '\\0' o");
    assert_int_equal (record.code, 0);
    assert_int_equal (record.output_length, 9000000);
    assert_int_equal (strspn (record.output, "o"), 9000000);
    record_clear (&record);
}

/* A command that ends while a descendant holds its pipe has ended; the descendant is killed. */
static void test_descendant (void **state)
{
    (void)state;
    struct record record = run ("sleep 1000 & echo $!");
    int pid = atoi (record.output);
    assert_int_equal (record.code, 0);
    assert_true (pid > 1);
    char path[64], stat[256] = "";
    snprintf (path, sizeof (path), "/proc/%d/stat", pid);
    for (int i = 0; i < 1000; i++) {
        FILE *file = fopen (path, "r");
        if (!file || !fgets (stat, sizeof (stat), file) || strstr (stat, ") Z ")) {
            if (file)
                fclose (file);
            record_clear (&record);
            return;
        }
        fclose (file);
        nanosleep (&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail_msg ("the descendant %d lives: %s", pid, stat);
}

static void test_cancel_and_signal (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    struct record first = {0}, second = {0};
    uint64_t a = start (set, "sleep 1000", 0, &first);
    uint64_t b =
        start (set, "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.01; done", 0,
               &second);
    assert_true (command_set_cancel (set, a));
    assert_false (command_set_cancel (set, a));
    assert_false (command_set_signal (set, a, SIGTERM));
    assert_int_equal (command_set_count (set), 1);
    /* The trap may not be set yet: the signal is repeated until the command ends. */
    while (second.calls == 0) {
        struct pollfd wait = {.fd = command_set_descriptor (set), .events = POLLIN};
        poll (&wait, 1, 50);
        command_set_turn (set, clock_monotonic_us ());
        command_set_signal (set, b, SIGCONT);
        if (command_set_pid (set, b) > 0 && second.calls == 0)
            command_set_signal (set, b, SIGTERM);
    }
    assert_int_equal (first.calls, 0);
    if (second.code == 0)
        assert_non_null (strstr (second.output, "stopped"));
    else
        assert_int_equal (second.signal, SIGTERM);
    record_clear (&second);
    command_set_free (set);
}

/* `done` that starts the next command and cancels another. */
struct chain {
    struct command_set *set;
    struct record last;
    uint64_t victim;
    int links;
};

static void next_link (void *user, const struct command_result *result)
{
    struct chain *chain = user;
    assert_int_equal (result->code, 0);
    if (chain->victim)
        assert_true (command_set_cancel (chain->set, chain->victim));
    chain->victim = 0;
    if (++chain->links == 3) {
        start (chain->set, "echo last", 0, &chain->last);
        return;
    }
    static const char *const words[] = {"true", NULL};
    struct command_request request = {.words = words, .done = next_link, .user = chain};
    assert_int_equal (command_set_start (chain->set, &request, 0, NULL, NULL), 0);
}

static void test_chain (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    static const char *const words[] = {"true", NULL};
    struct record victim = {0};
    struct chain chain = {.set = set};
    chain.victim = start (set, "sleep 1000", 0, &victim);
    struct command_request request = {.words = words, .done = next_link, .user = &chain};
    assert_int_equal (command_set_start (set, &request, 0, NULL, NULL), 0);
    while (command_set_count (set) > 0) {
        struct pollfd wait = {.fd = command_set_descriptor (set), .events = POLLIN};
        assert_int_equal (poll (&wait, 1, 60000), 1);
        command_set_turn (set, clock_monotonic_us ());
    }
    assert_int_equal (chain.links, 3);
    assert_string_equal (chain.last.output, "last\n");
    assert_int_equal (victim.calls, 0);
    record_clear (&chain.last);
    command_set_free (set);
}

static void test_limit (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    static const char *const words[] = {"sleep", "1000", NULL};
    struct command_request request = {.words = words};
    struct pollux_error err = {.text = ""};
    for (int i = 0; i < COMMANDS_LIMIT; i++)
        assert_int_equal (command_set_start (set, &request, 0, NULL, &err), 0);
    assert_int_equal (command_set_start (set, &request, 0, NULL, &err), -EAGAIN);
    assert_non_null (strstr (err.text, "64 commands"));
    request.detached = true;
    uint64_t id;
    assert_int_equal (command_set_start (set, &request, 0, &id, &err), 0);
    assert_true (command_set_cancel (set, id));
    command_set_free (set);
}

/* A detached command outlives the set, and its output does not need a reader. */
static void test_detached (void **state)
{
    (void)state;
    struct command_set *set = set_new ();
    char directory[64], script[256], path[80];
    struct record record = {0};
    uint64_t id;
    const char *words[] = {"sh", "-c", script, NULL};
    struct command_request request = {
        .words = words, .detached = true, .deadline_us = 1, .done = note, .user = &record};
    snprintf (directory, sizeof (directory), "%s/pollux-commands-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (directory));
    snprintf (path, sizeof (path), "%s/done", directory);
    snprintf (script, sizeof (script), "echo lost; echo kept >&2; exit 5");
    assert_int_equal (command_set_start (set, &request, 0, &id, NULL), 0);
    assert_true (command_set_due_us (set) == INT64_MAX);
    command_set_wait (set, id);
    assert_int_equal (record.exit_code, 5);
    assert_string_equal (record.output, "");
    assert_string_equal (record.error, "kept\n");
    record_clear (&record);
    snprintf (script, sizeof (script),
              "sleep 0.2; head -c 200000 /dev/zero; head -c 200000 /dev/zero >&2; : > %s", path);
    assert_int_equal (command_set_start (set, &request, 0, &id, NULL), 0);
    int pid = command_set_pid (set, id);
    command_set_free (set);
    int status;
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
    assert_int_equal (access (path, F_OK), 0);
    unlink (path);
    rmdir (directory);
}

/* Descriptors do not leak. */
static int open_files (void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl (i, F_GETFD) >= 0;
    return count;
}

static void test_many (void **state)
{
    (void)state;
    int before = open_files ();
    struct command_set *set = set_new ();
    struct record records[40] = {{0}};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT (records); i++)
            start (set, i % 2 ? "echo odd" : "echo even >&2; exit 1", 60000000, &records[i]);
        while (command_set_count (set) > 0) {
            struct pollfd wait = {.fd = command_set_descriptor (set), .events = POLLIN};
            assert_int_equal (poll (&wait, 1, 60000), 1);
            command_set_turn (set, clock_monotonic_us ());
        }
        for (size_t i = 0; i < COUNT (records); i++) {
            assert_int_equal (records[i].calls, 1);
            assert_string_equal (records[i].output, i % 2 ? "odd\n" : "");
            assert_string_equal (records[i].error, i % 2 ? "" : "even\n");
            record_clear (&records[i]);
        }
    }
    struct pollfd idle = {.fd = command_set_descriptor (set), .events = POLLIN};
    assert_int_equal (poll (&idle, 1, 0), 0); /* no empty turns */
    command_set_free (set);
    assert_int_equal (open_files (), before);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_ends),
        cmocka_unit_test (test_input_and_environment),
        cmocka_unit_test (test_not_started),
        cmocka_unit_test (test_deadline),
        cmocka_unit_test (test_flood),
        cmocka_unit_test (test_descendant),
        cmocka_unit_test (test_cancel_and_signal),
        cmocka_unit_test (test_chain),
        cmocka_unit_test (test_limit),
        cmocka_unit_test (test_detached),
        cmocka_unit_test (test_many),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
