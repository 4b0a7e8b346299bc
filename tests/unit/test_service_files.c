/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of jobs that ended long ago: the service asks its root process to remove them, one job after the other.  The
 * root process is this test.
 */
#include "unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "backend/slurm/service_private.h"
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
    assert_int_equal (ret->kind, OWNER_REMOVE);
    assert_string_equal (ret->owner, service_owner_of (&test->service, ret->job));
    assert_int_equal (ret->generation, 1);
    return true;
}

static void answer (struct fixture *test, const struct owner_request *request, int code)
{
    struct owner_answer answer = {.number = request->number, .code = code, .text = "why not"};
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int length = owner_answer_encode (&answer, message, NULL);
    assert_int_equal (owner_socket_send (test->root, message, (size_t)length, -1), length);
    service_take_answers (&test->service);
}

/* All requests up to the last answer, as the names of their jobs; the answers for jobs a, b, c, ... */
static void expect_removals (struct fixture *test, const char *names, const int codes[6])
{
    struct owner_request request, other;
    service_remove_next (&test->service);
    for (; *names; names++) {
        assert_true (take (test, &request));
        assert_int_equal (request.job[0], *names);
        service_remove_next (&test->service);
        assert_false (take (test, &other)); /* one at a time */
        answer (test, &request, codes[*names - 'a']);
    }
    assert_false (take (test, &request));
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
        cmocka_unit_test_setup_teardown (the_newest_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_failed_removal_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown (a_dead_file_system_delays_its_owner_only, set_up,
                                         tear_down),
        cmocka_unit_test_setup_teardown (rounds_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown (few_jobs_are_all_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests_name ("files of the service", tests, NULL, NULL);
}
