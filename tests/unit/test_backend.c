/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of struct backend_ops, the same for every backend in the table: jobs start, finish,
 * fail, move, are cancelled, and are adopted by the next daemon.
 */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "backend_fixture.h"

static enum job_phase phase (const struct fixture *fixture, int job)
{
    return fixture_job (fixture, job)->phase;
}

static int submit (struct fixture *fixture, const char *name, const char *program)
{
    struct launch launch = fixture_launch ();
    char *words[] = {(char *)program, "1000", NULL};
    launch.command = words;
    launch.max_failures = 0;
    return fixture_submit (fixture, name, NULL, &launch);
}

static void test_find (void **state)
{
    (void)state;
    const struct backend_ops *ops = NULL;
    struct pollux_error err;
    for (const struct backend_ops *const *at = backends; *at; at++) {
        assert_int_equal (backend_find ((*at)->name, &ops, &err), 0);
        assert_ptr_equal (ops, *at);
    }
    assert_int_equal (backend_find ("nosuch", &ops, &err), -ENOENT);
    assert_string_equal (
        err.text, "no backend is called 'nosuch'; there are local, slurm-steps, slurm, fake");
}

static void test_nodes (void **state)
{
    struct fixture *fixture = *state;
    const struct node *nodes;
    assert_int_equal (fixture->ops->nodes (fixture->backend, &nodes, NULL), 2);
    assert_string_equal (nodes[0].name, "a");
    assert_int_equal (nodes[1].slots, 2);
    assert_true (nodes[0].available && *nodes[0].type);
}

static void test_ends (void **state)
{
    struct fixture *fixture = *state;
    int good = submit (fixture, "good", "true"), bad = submit (fixture, "bad", "false"), file;
    PLAN (fixture, {1, 0}, {0, 1});
    AWAIT (fixture,
           !job_live (fixture_job (fixture, good)) && !job_live (fixture_job (fixture, bad)));
    assert_int_equal (phase (fixture, good), JOB_FINISHED);
    assert_int_equal (phase (fixture, bad), JOB_FAILED);
    assert_string_equal (fixture_exit (fixture, bad)->detail, "replica 0 ended with exit code 1");
    assert_int_equal (fixture_event_count (fixture, EVENT_START, good), 1);
    assert_int_equal (fixture->ops->count (fixture->backend), 0);
    assert_int_equal (fixture->ops->open_log (fixture->backend, "good", 1, 0, 0, &file, NULL), 0);
    close (file);
    assert_int_equal (fixture->ops->open_log (fixture->backend, "good", 1, 0, 1, &file, NULL),
                      -ENOENT);
}

/* Two jobs exchange their nodes: neither starts before the other one has left. */
static void test_moves (void **state)
{
    struct fixture *fixture = *state;
    int first = submit (fixture, "first", "sleep"), second = submit (fixture, "second", "sleep");
    PLAN (fixture, {2, 0}, {0, 2});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, first) == 1 &&
                        fixture_event_count (fixture, EVENT_STARTED, second) == 1);
    PLAN (fixture, {0, 2}, {2, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, first) == 2 &&
                        fixture_event_count (fixture, EVENT_STARTED, second) == 2);
    assert_int_equal (fixture_exit (fixture, first)->kind, EXITED_STOPPED);
    fixture_cancel (fixture, first);
    fixture_cancel (fixture, second);
    AWAIT (fixture,
           phase (fixture, first) == JOB_CANCELLED && phase (fixture, second) == JOB_CANCELLED);
}

static void test_adopted (void **state)
{
    struct fixture *fixture = *state;
    int job = submit (fixture, "j", "sleep");
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 1);
    fixture_end_daemon (fixture);
    fixture_restart_daemon (fixture);
    for (int i = 0; i < 5; i++)
        fixture_step (fixture);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
    assert_int_equal (fixture_event_count (fixture, EVENT_STARTED, job), 1);
    assert_int_equal (fixture_event_count (fixture, EVENT_EXIT, job), 0);
    fixture->ops->stop_all (fixture->backend);
    AWAIT (fixture, fixture->ops->count (fixture->backend) == 0);
    assert_int_equal (phase (fixture, job), JOB_PENDING);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
}

/* An adaptive job has STARTED when its agent reports. */
static void test_reported (void **state)
{
    struct fixture *fixture = *state;
    int job = submit (fixture, "j", "sleep");
    fixture->loop.cluster.jobs[job]->spec.adaptive = true;
    PLAN (fixture, {1, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_START, job) == 1);
    for (int i = 0; i < 5; i++)
        fixture_step (fixture);
    assert_int_equal (fixture_event_count (fixture, EVENT_STARTED, job), 0);
    for (int i = 0; i < 2; i++)
        fixture->ops->reported (fixture->backend, &fixture->loop.cluster, job);
    fixture_step (fixture);
    assert_int_equal (fixture_event_count (fixture, EVENT_STARTED, job), 1);
    fixture_cancel (fixture, job);
    AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
}

int main (void)
{
#define TEST(test)                                                                                 \
    {#test " (local)", test, fixture_set_up, fixture_tear_down, NULL},                             \
    {                                                                                              \
#test " (fake)", test, fixture_set_up_fake, fixture_tear_down, NULL                        \
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_find), TEST (test_nodes),    TEST (test_ends), TEST (test_moves),
        TEST (test_adopted),          TEST (test_reported),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
