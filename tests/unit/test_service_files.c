/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of owners, which the service reads and removes through its root process: how runs ended, logs, and what jobs that
 * ended long ago have left.  The root process is this test.
 */
#define _GNU_SOURCE /* memfd_create */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "cluster_fixture.h"

struct fixture {
    struct service service;
    struct cluster_fixture cluster;
    int root; /* the root process's end */
    int logged;
    char log[256]; /* the last warning */
};

static void take_log (void *self, int level, const char *text)
{
    struct fixture *test = self;
    assert_int_equal (level, LOG_WARNING);
    test->logged++;
    snprintf (test->log, sizeof (test->log), "%s", text);
}

/* Jobs a to f: the last one runs, b was never started, the others have ended one after the other. */
static int set_up (void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct fixture *test = calloc (1, sizeof (*test));
    int sockets[2];
    if (!test ||
        socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
        return -1;
    cluster_fixture_init (&test->cluster, 1, 4);
    for (int i = 0; i < 6; i++) {
        struct event event = {.type = EVENT_CANCEL};
        event.job = cluster_fixture_submit (&test->cluster, names[i], 1, 1);
        test->cluster.now_us += 1000000;
        if (i == 1) {
            cluster_fixture_apply (&test->cluster, &event);
            continue;
        }
        cluster_fixture_plan (&test->cluster, (const char *const[]){"0:1"});
        cluster_fixture_start (&test->cluster, event.job, "0:1");
        if (i < 5)
            cluster_fixture_exit (&test->cluster, event.job, EXITED_FINISHED, "");
    }
    test->root = sockets[1];
    test->service.slurm.cluster = &test->cluster.cluster;
    test->service.slurm.set.log = take_log;
    test->service.slurm.set.log_self = test;
    test->service.old.before_us = INT64_MIN;
    *state = test;
    return owner_client_new (sockets[0], &test->service.client, NULL);
}

static int tear_down (void **state)
{
    struct fixture *test = *state;
    owner_client_free (test->service.client);
    service_files_clear (&test->service);
    cluster_fixture_clear (&test->cluster);
    close (test->root);
    free (test);
    return 0;
}

/* The next request; false: there is none. */
static bool take (const struct fixture *test, struct owner_request *ret)
{
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int file;
    ssize_t length = owner_socket_receive (test->root, message, sizeof (message), &file);
    if (length < 0)
        return false;
    assert_int_equal (owner_request_decode (message, (size_t)length, ret, NULL), 0);
    assert_string_equal (ret->owner, service_owner_of (&test->service, ret->job));
    assert_int_equal (ret->generation, 1);
    return true;
}

static void answer_with (struct fixture *test, const struct owner_request *request, int code,
                         const char *output)
{
    struct owner_answer answer = {.number = request->number, .code = code, .text = "why not"};
    snprintf (answer.output, sizeof (answer.output), "%s", output);
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int length = owner_answer_encode (&answer, message, NULL);
    assert_int_equal (owner_socket_send (test->root, message, (size_t)length, -1), length);
    service_take_answers (&test->service);
}

static void answer (struct fixture *test, const struct owner_request *request, int code)
{
    answer_with (test, request, code, "");
}

/* ---- How runs ended ----------------------------------------------------------------------- */

static const struct run_name run = {.job = "f", .generation = 1};
#define SECOND_US INT64_C (1000000)
#define STATUS                                                                                     \
    "{\"version\":1,\"started\":true,\"code\":3,\"signal\":0,\"stopped\":false,\"killed\":false,"  \
    "\"at_us\":1,\"why\":\"\"}"

/* The service asks for a file; the root process answers. */
static void expect_read (struct fixture *test, const char *file, int code, const char *output)
{
    struct owner_request request;
    assert_true (take (test, &request));
    assert_int_equal (request.kind, OWNER_READ);
    assert_string_equal (request.file, file);
    assert_string_equal (request.job, "f");
    answer_with (test, &request, code, output);
}

/* A damaged or missing status means that there is none; then the file info says whether the run has begun.  All other
 * failures pass: the files are asked for again, and a run that has finished is not lost. */
static void passing_failures_say_nothing (void **state)
{
    static const int damage[] = {-EINVAL, -ELOOP, -EISDIR, -ENOTDIR, -EPERM, -EACCES, -EFBIG};
    static const int passing[] = {-ETIMEDOUT, -EINTR,          -EIO, -ESTALE, -EMFILE,
                                  -ENOMEM,    OWNER_NO_PROCESS};
    struct fixture *test = *state;
    struct run_view *view = calloc (1, sizeof (*view));
    int64_t newer_us = clock_monotonic_us ();
    assert_non_null (view);
    for (size_t i = 0; i < COUNT (passing); i++) {
        assert_int_equal (service_read (&test->service, &run, newer_us, view), -EAGAIN);
        expect_read (test, "status", passing[i], "");
        assert_int_equal (service_read (&test->service, &run, newer_us, view), -EAGAIN);
        expect_read (test, "status", -ENOENT, "");
        expect_read (test, "info", passing[i], "");
    }
    assert_int_equal (service_read (&test->service, &run, newer_us, view), -EAGAIN);
    expect_read (test, "status", 0, STATUS);
    assert_int_equal (service_read (&test->service, &run, newer_us, view), 0);
    assert_int_equal (view->state, RUN_ENDED);
    assert_true (view->has_status && view->status.code == 3);
    for (size_t i = 0; i <= COUNT (damage); i++) {
        int code = i < COUNT (damage) ? damage[i] : -ENOENT;
        newer_us = clock_monotonic_us ();
        assert_int_equal (service_read (&test->service, &run, newer_us, view), -EAGAIN);
        expect_read (test, "status", i % 2 ? code : 0, "nonsense");
        expect_read (test, "info", code, "");
        assert_int_equal (service_read (&test->service, &run, newer_us, view), 0);
        assert_int_equal (view->state, code == -ENOENT ? RUN_NONE : RUN_BEGUN);
        assert_false (view->has_status);
    }
    free (view);
}

/* After minutes a run whose files cannot be read has no status. */
static void unreadable_files_are_given_up (void **state)
{
    static const struct {
        int failures;
        int asked_s; /* for this time */
        bool silent; /* the last request has no answer */
        bool given_up;
    } cases[] = {{3, 60, false, false}, {2, 130, false, false}, {3, 130, false, true},
                 {3, 130, true, true},  {0, 130, true, false},  {0, 610, true, true}};
    struct fixture *test = *state;
    struct run_view *view = calloc (1, sizeof (*view));
    struct owner_request request;
    assert_non_null (view);
    for (size_t i = 0; i < COUNT (cases); i++) {
        int64_t newer_us = clock_monotonic_us () - 700 * SECOND_US;
        assert_int_equal (service_read (&test->service, &run, newer_us, view), -EAGAIN);
        for (int j = 0; j < cases[i].failures; j++) {
            expect_read (test, "status", -ETIMEDOUT, "");
            if (j + 1 < cases[i].failures || cases[i].silent)
                service_read (&test->service, &run, newer_us, view);
        }
        test->service.reads[0]->asked_us -= cases[i].asked_s * SECOND_US;
        int code = service_read (&test->service, &run, newer_us, view);
        if (code != (cases[i].given_up ? 0 : -EAGAIN))
            fail_msg ("case %zu: %d", i, code);
        if (cases[i].given_up) {
            assert_int_equal (view->state, RUN_BEGUN);
            assert_false (view->has_status);
            assert_true (*view->why.text);
        }
        while (take (test, &request))
            ;
        service_forget_reads (&test->service, "f", 1);
    }
    free (view);
}

static void set_up_carrier (struct fixture *test)
{
    struct slurm *slurm = &test->service.slurm;
    slurm->set.carrier = &slurm_carrier;
    slurm->set.carrier_self = slurm;
    slurm->way = &service_way;
    slurm->way_self = &test->service;
    slurm->node_count = -1;
}

/* That is not the job's fault: the share has an excuse, unless Slurm has said more. */
static void unreadable_files_are_an_excuse (void **state)
{
    static const struct {
        bool refused, excused;
    } cases[] = {{false, true}, {true, false}};
    struct fixture *test = *state;
    struct slurm *slurm = &test->service.slurm;
    struct share place = {.node = 0, .replicas = 1};
    struct run_view *view = calloc (1, sizeof (*view));
    struct owner_request request;
    set_up_carrier (test);
    assert_non_null (view);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct generation *generation =
            generation_add (&slurm->set, "f", 1, (struct placement){&place, 1}, LAUNCHER_ENV);
        assert_non_null (generation);
        struct carried_share *share = slurm_table_add (slurm, generation, 0, CARRIED_GONE);
        assert_non_null (share);
        share->since_us -= 700 * SECOND_US;
        share->refused = cases[i].refused;
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), -EAGAIN);
        assert_true (take (test, &request));
        test->service.reads[0]->asked_us -= 610 * SECOND_US;
        assert_false (share->excused);
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), 0);
        assert_int_equal (view->state, RUN_BEGUN);
        assert_int_equal (share->excused, cases[i].excused);
        assert_int_equal (strstr (share->why, "cannot be read") != NULL, cases[i].excused);
        service_forget_reads (&test->service, "f", 1);
        generation_drop (&slurm->set, generation);
        slurm_table_drop (slurm, share);
    }
    free (view);
    free (slurm->shares);
    free (slurm->set.items);
}

/* A file server shows new files late: that there is no status counts only if it was asked for a second after the end. */
static void a_status_has_a_second_to_appear (void **state)
{
    static const struct {
        const char *second; /* the status, when it is asked for again */
        enum run_state state;
    } cases[] = {{STATUS, RUN_ENDED}, {NULL, RUN_BEGUN}};
    struct fixture *test = *state;
    struct slurm *slurm = &test->service.slurm;
    struct share place = {.node = 0, .replicas = 1};
    struct run_view *view = calloc (1, sizeof (*view));
    struct owner_request request;
    assert_non_null (view);
    set_up_carrier (test);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct generation *generation =
            generation_add (&slurm->set, "f", 1, (struct placement){&place, 1}, LAUNCHER_ENV);
        assert_non_null (generation);
        struct carried_share *share = slurm_table_add (slurm, generation, 0, CARRIED_GONE);
        assert_non_null (share);
        share->since_us -= 100 * SECOND_US;
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), -EAGAIN);
        expect_read (test, "status", -ENOENT, "");
        expect_read (test, "info", 0, "");
        /* The answer is of the time of the end; the request is made again a second later. */
        struct service_read *read = test->service.reads[0];
        share->since_us = read->at_us = clock_monotonic_us () + 100 * SECOND_US;
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), -EAGAIN);
        assert_false (take (test, &request));
        share->since_us = read->at_us = clock_monotonic_us () - 2 * SECOND_US;
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), -EAGAIN);
        expect_read (test, "status", cases[i].second ? 0 : -ENOENT,
                     cases[i].second ? cases[i].second : "");
        if (!cases[i].second)
            expect_read (test, "info", 0, "");
        assert_int_equal (service_way.read (&test->service, &run, view, NULL), 0);
        assert_int_equal (view->state, cases[i].state);
        assert_false (take (test, &request) || share->excused);
        service_forget_reads (&test->service, "f", 1);
        generation_drop (&slurm->set, generation);
        slurm_table_drop (slurm, share);
    }
    free (view);
    free (slurm->shares);
    free (slurm->set.items);
}

/* An answer to what was asked while the share ran may be older than its end: the files are read again. */
static void late_answers_are_not_used (void **state)
{
    struct fixture *test = *state;
    struct run_view *view = calloc (1, sizeof (*view));
    assert_non_null (view);
    assert_int_equal (service_read (&test->service, &run, 1, view), -EAGAIN);
    int64_t end_us = clock_monotonic_us () + 1;
    expect_read (test, "status", -ENOENT, "");
    expect_read (test, "info", 0, "");
    while (clock_monotonic_us () < end_us)
        ;
    assert_int_equal (service_read (&test->service, &run, end_us, view), -EAGAIN);
    expect_read (test, "status", -ENOENT, "");
    expect_read (test, "info", 0, "");
    assert_int_equal (service_read (&test->service, &run, end_us, view), 0);
    assert_int_equal (view->state, RUN_BEGUN);
    free (view);
}

/* What was asked while the share ran does not count when it has ended. */
static void a_new_request_counts_from_its_beginning (void **state)
{
    struct fixture *test = *state;
    struct run_view *view = calloc (1, sizeof (*view));
    int64_t now_us = clock_monotonic_us ();
    assert_non_null (view);
    for (int i = 0; i < 3; i++) {
        assert_int_equal (service_read (&test->service, &run, now_us - 700 * SECOND_US, view),
                          -EAGAIN);
        expect_read (test, "status", -EIO, "");
    }
    test->service.reads[0]->asked_us = now_us - 650 * SECOND_US;
    assert_int_equal (service_read (&test->service, &run, now_us, view), -EAGAIN);
    assert_int_equal (test->service.reads[0]->failures, 0);
    expect_read (test, "status", -ENOENT, "");
    expect_read (test, "info", -ENOENT, "");
    assert_int_equal (service_read (&test->service, &run, now_us, view), 0);
    assert_int_equal (view->state, RUN_NONE);
    free (view);
}

/* ---- Old jobs ----------------------------------------------------------------------------- */

/* All requests up to the last answer, as the names of their jobs; the answers for jobs a, b, c, ... */
static void expect_removals (struct fixture *test, const char *names, const int codes[6])
{
    struct owner_request request, other;
    service_remove_next (&test->service);
    for (; *names; names++) {
        assert_true (take (test, &request));
        assert_int_equal (request.kind, OWNER_REMOVE);
        assert_int_equal (request.job[0], *names);
        service_remove_next (&test->service);
        assert_false (take (test, &other)); /* one at a time */
        answer (test, &request, codes[*names - 'a']);
    }
    assert_false (take (test, &request));
}

/* Answer a request for a piece of a log. */
static void answer_piece (struct fixture *test, const struct owner_request *request,
                          const char *text, int64_t offset)
{
    struct owner_piece piece = {.next = {.inode = 5, .offset = offset}, .end = 1};
    struct owner_answer answer = {.number = request->number};
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int file = memfd_create ("log", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal (write (file, &piece, sizeof (piece)), sizeof (piece));
    assert_int_equal (write (file, text, strlen (text)), strlen (text));
    assert_int_equal (fcntl (file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    int length = owner_answer_encode (&answer, message, NULL);
    assert_int_equal (owner_socket_send (test->root, message, (size_t)length, file), length);
    close (file);
    service_take_answers (&test->service);
}

static int read_log (struct fixture *test, const struct log_position *from, struct log_piece *ret)
{
    return service_read_log (&test->service, "a", 1, 0, -1, from, ret, NULL);
}

/* No call waits: a piece is asked for, and given once.  Without new bytes there is no other request at once. */
static void logs_come_in_pieces (void **state)
{
    struct fixture *test = *state;
    struct log_position from = {.inode = 0};
    struct log_piece piece = {.file = -1};
    struct owner_request request;
    char text[16] = "";
    for (int i = 0; i < 2; i++)
        assert_int_equal (read_log (test, &from, &piece), -EAGAIN);
    assert_true (take (test, &request));
    assert_int_equal (request.kind, OWNER_LOG);
    assert_int_equal (request.lines, -1);
    assert_false (take (test, &request)); /* one request */
    answer_piece (test, &request, "hello", 5);
    assert_int_equal (read_log (test, &from, &piece), 0);
    assert_int_equal (pread (piece.file, text, sizeof (text), piece.offset), 5);
    assert_string_equal (text, "hello");
    close (piece.file);
    assert_true (piece.end);
    for (int i = 0; i < 2; i++) { /* no new bytes */
        from = piece.next;
        assert_int_equal (from.offset, 5);
        assert_int_equal (read_log (test, &from, &piece), -EAGAIN);
        assert_true (take (test, &request));
        assert_int_equal (request.from.inode, 5);
        answer_piece (test, &request, "", 5);
        assert_int_equal (read_log (test, &from, &piece), 0);
        close (piece.file);
        assert_int_equal (read_log (test, &from, &piece), -EAGAIN);
        assert_false (take (test, &request)); /* it was read a moment ago */
        test->service.logs[0]->at_us = 0;     /* a second has passed */
    }
    static const struct {
        uint64_t inode;
        int answer, code;
    } failures[] = {
        {0, -EACCES, -EACCES}, {0, -EIO, -EIO}, {6, -EACCES, -EACCES}, {7, -EIO, -EAGAIN}};
    /* Failures that pass do not end a reader that has begun. */
    for (size_t i = 0; i < COUNT (failures); i++) {
        from = (struct log_position){.inode = failures[i].inode};
        assert_int_equal (read_log (test, &from, &piece), -EAGAIN);
        assert_true (take (test, &request));
        answer (test, &request, failures[i].answer);
        assert_int_equal (read_log (test, &from, &piece), failures[i].code);
        test->service.logs[0]->at_us = 0;
    }
}

/* A descriptor of a file that is not in memory is not taken: a read of it could wait. */
static void only_memory_is_read (void **state)
{
    struct fixture *test = *state;
    struct log_position from = {.inode = 0};
    struct log_piece piece;
    struct owner_request request;
    struct owner_answer answer = {.code = 0};
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int file = open ("/etc/passwd", O_RDONLY | O_CLOEXEC);
    assert_int_equal (read_log (test, &from, &piece), -EAGAIN);
    assert_true (take (test, &request));
    answer.number = request.number;
    int length = owner_answer_encode (&answer, message, NULL);
    assert_int_equal (owner_socket_send (test->root, message, (size_t)length, file), length);
    close (file);
    service_take_answers (&test->service);
    assert_int_equal (read_log (test, &from, &piece), -EIO);
}

static const int all_removed[6] = {-ENOENT};

static void the_newest_are_kept (void **state)
{
    struct fixture *test = *state;
    test->service.old.keep = 2;
    service_begin_removal (&test->service);
    expect_removals (test, "ac", all_removed);
    service_begin_removal (&test->service);
    expect_removals (test, "", all_removed);
    test->cluster.now_us += 1000000;
    cluster_fixture_exit (&test->cluster, 5, EXITED_FINISHED, "");
    service_begin_removal (&test->service);
    expect_removals (test, "d", all_removed); /* the others were removed before */
    assert_int_equal (test->logged, 0);
}

/* The next round tries again.  The log names the job and its owner, once. */
static void a_failed_removal_is_tried_again (void **state)
{
    struct fixture *test = *state;
    test->service.old.keep = 2;
    for (int i = 0; i < 3; i++) {
        service_begin_removal (&test->service);
        expect_removals (test, i == 0 ? "ac" : "c", (const int[6]){[2] = -EACCES});
        assert_int_equal (test->logged, 1);
        assert_string_equal (
            test->log, "job c of ann: its old logs are not removed: why not; tried again later");
    }
    service_begin_removal (&test->service);
    expect_removals (test, "c", all_removed);
    service_begin_removal (&test->service);
    expect_removals (test, "", all_removed);
}

/* One owner's file system does not answer: one request per round waits for it, and other owners' jobs are removed. */
static void a_dead_file_system_delays_its_owner_only (void **state)
{
    struct fixture *test = *state;
    strcpy (test->cluster.cluster.jobs[3]->launch->owner, "bob");
    test->service.old.keep = 1;
    for (int i = 0; i < 2; i++) {
        service_begin_removal (&test->service);
        expect_removals (test, i == 0 ? "ad" : "a", (const int[6]){[0] = -ETIMEDOUT});
    }
    assert_int_equal (test->logged, 1);
    service_begin_removal (&test->service); /* it answers again */
    expect_removals (test, "ac", all_removed);
}

/* A round that is due before the last answer of the one before does not begin.  Job f is the last one here. */
static void rounds_follow_each_other (void **state)
{
    struct fixture *test = *state;
    struct job **jobs = test->cluster.cluster.jobs;
    struct owner_request request;
    test->cluster.now_us += 1000000;
    cluster_fixture_exit (&test->cluster, 5, EXITED_FINISHED, "");
    jobs[0]->end_us = jobs[5]->end_us + 1;
    test->service.old.keep = 1;
    service_begin_removal (&test->service);
    service_remove_next (&test->service);
    for (char name = 'c'; name <= 'f'; name++) {
        assert_true (take (test, &request));
        assert_int_equal (request.job[0], name);
        service_begin_removal (&test->service);
        answer (test, &request, 0);
    }
    assert_false (take (test, &request));
    service_begin_removal (&test->service);
    expect_removals (test, "", all_removed);
}

static void few_jobs_are_all_kept (void **state)
{
    struct fixture *test = *state;
    test->service.old.keep = 5;
    service_begin_removal (&test->service);
    expect_removals (test, "", all_removed);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (passing_failures_say_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown (unreadable_files_are_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown (unreadable_files_are_an_excuse, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_status_has_a_second_to_appear, set_up, tear_down),
        cmocka_unit_test_setup_teardown (late_answers_are_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_new_request_counts_from_its_beginning, set_up,
                                         tear_down),
        cmocka_unit_test_setup_teardown (logs_come_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown (only_memory_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown (the_newest_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_failed_removal_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_dead_file_system_delays_its_owner_only, set_up,
                                         tear_down),
        cmocka_unit_test_setup_teardown (rounds_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown (few_jobs_are_all_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests_name ("files of the service", tests, NULL, NULL);
}
