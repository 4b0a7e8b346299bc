/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed supervisor leaves, with real processes: all of them are found and killed, in other
 * sessions, without their environment, at any moment.  tests/cli/exec.sh tests supervisors that
 * live.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/supervisor.h"
#include "run_fixture.h"

static void test_process_identity (void **state)
{
    (void)state;
    struct run_process self, wrong;
    char boot[RUN_BOOT_SIZE];
    int file;
    assert_int_equal (process_boot (boot, NULL), 0);
    assert_int_equal (process_identify (getpid (), &self, NULL), 0);
    assert_int_equal (process_open (&self, boot, &file, NULL), 0);
    close (file);
    wrong = self;
    wrong.start++;
    assert_int_equal (process_open (&wrong, boot, &file, NULL), -ESRCH);
    assert_int_equal (process_open (&self, "another-boot", &file, NULL), -ESRCH);
    int child = fork ();
    if (child == 0)
        _exit (0);
    waitpid (child, NULL, 0);
    wrong.pid = child;
    assert_int_equal (process_open (&wrong, boot, &file, NULL), -ESRCH);
    assert_int_equal (process_identify (child, &wrong, NULL), -ESRCH);
}

/* Fork a supervisor that runs a shell script. */
static int start_supervisor (struct run_fixture *test, const char *script, const char *cgroup)
{
    int child = fork ();
    if (child != 0)
        return child;
    char *command[] = {"/bin/sh", "-c", (char *)script, NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct run_description description = {.command = command,
                                          .environment = environment,
                                          .directory = "/",
                                          .stop_signal = SIGTERM,
                                          .grace_s = 5,
                                          .log_size = 1 << 20,
                                          .cgroup = (char *)cgroup};
    struct supervisor_options options = {0};
    struct run_status status = {0};
    struct run_name ours;
    char path[128];
    int root;
    snprintf (path, sizeof (path), "%s/run/job/3/1", test->path);
    int code = supervisor_prepare (NULL);
    if (code == 0)
        code = run_path_open (path, &root, &ours, NULL);
    if (code == 0)
        code = supervisor_run (root, &ours, &description, &options, &status, NULL);
    _exit (code < 0 ? 99 : run_status_code (&status));
}

static bool log_has (struct run_fixture *test, const char *word)
{
    char text[4096] = "";
    int file;
    if (run_open_log (test->root, &run_fixture_name, 0, &file, NULL) < 0)
        return false;
    ssize_t got = read (file, text, sizeof (text) - 1);
    close (file);
    return got > 0 && strstr (text, word);
}

/* Wait for a text in the log; false after a minute. */
static bool await_word (struct run_fixture *test, const char *word)
{
    for (int i = 0; i < 6000 && !log_has (test, word); i++)
        run_fixture_pause_ms (10);
    return log_has (test, word);
}

/* Processes in other sessions and groups outlive the supervisor; they are found by the run's id. */
static void test_lost_tree (void **state)
{
    struct run_fixture *test = *state;
    int supervisor = start_supervisor (
        test,
        "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' & "
        "setsid env -u POLLUX_SOCKET sleep 1000 & sleep 1000 & echo ready; wait",
        NULL);
    assert_true (await_word (test, "ready"));
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    int file;
    assert_int_equal (process_open (&test->view.info.supervisor, test->view.info.boot, &file, NULL),
                      0);
    close (file);
    run_fixture_kill_child (supervisor);
    assert_int_equal (run_fixture_look (test), RUN_LOST);
    assert_true (run_fixture_kill_all (test) >= 2);
    assert_int_equal (run_kill (test->root, &run_fixture_name, &test->view, NULL), 0);
    /* Of an earlier boot no process is left, whatever processes have these pids now. */
    strcpy (test->view.info.boot, "another-boot");
    test->view.info.supervisor.pid = getsid (0);
    test->view.replica.pid = getpgid (0);
    assert_int_equal (run_kill (test->root, &run_fixture_name, &test->view, NULL), 0);
}

/* A process without its environment is found by its session and process group. */
static void test_lost_without_environment (void **state)
{
    struct run_fixture *test = *state;
    int supervisor =
        start_supervisor (test, "env -i sh -c 'sleep 1000 & sleep 1000' & echo ready; wait", NULL);
    assert_true (await_word (test, "ready"));
    for (int i = 0; i < 6000 && !(run_fixture_look (test) == RUN_RUNNING && test->view.has_replica);
         i++)
        run_fixture_pause_ms (10);
    run_fixture_kill_child (supervisor);
    assert_int_equal (run_fixture_look (test), RUN_LOST);
    assert_true (run_fixture_kill_all (test) >= 1);
}

/* Without environment, session and group, it is found by its cgroup. */
static void test_lost_cgroup (void **state)
{
    struct run_fixture *test = *state;
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char cgroup[128] = "";
    for (size_t i = 0; i < COUNT (places) && !*cgroup; i++) {
        snprintf (cgroup, sizeof (cgroup), "%s/cgroup.procs", places[i]);
        bool there = access (cgroup, W_OK) == 0;
        snprintf (cgroup, sizeof (cgroup), "%s/pollux-test-%d", places[i], getpid ());
        if (!there || mkdir (cgroup, 0755) < 0)
            cgroup[0] = '\0';
    }
    if (!*cgroup) {
        fprintf (stderr, "SKIPPED: no cgroup v2 that we may write to\n");
        skip ();
    }
    rmdir (cgroup);
    int supervisor = start_supervisor (
        test, "setsid env -i sh -c 'sleep 1000 & sleep 1000' & sleep 0.1; echo ready; wait",
        cgroup);
    assert_true (await_word (test, "ready"));
    run_fixture_kill_child (supervisor);
    assert_int_equal (run_fixture_look (test), RUN_LOST);
    assert_string_equal (test->view.info.cgroup, cgroup);
    run_fixture_kill_all (test);
    for (int i = 0; i < 6000 && access (cgroup, F_OK) == 0; i++) {
        run_fixture_pause_ms (10);
        run_kill (test->root, &run_fixture_name, &test->view, NULL);
    }
    assert_int_equal (access (cgroup, F_OK), -1); /* it was empty, so no process is left */
}

/* Kill supervisors at any moment: the run is RUN_NONE, RUN_LOST or RUN_ENDED, and no process is left. */
static void test_killed_at_any_moment (void **state)
{
    struct run_fixture *test = *state;
    int seen[RUN_STATES] = {0}, rounds = soak_count (200);
    for (int i = 0; i < rounds; i++) {
        int supervisor = start_supervisor (test, "sleep 0.01 & setsid sleep 1000 & exit 3", NULL);
        run_fixture_pause_ms (i * 7919L % 101);
        run_fixture_kill_child (supervisor);
        enum run_state found = run_fixture_look (test);
        assert_true (found != RUN_RUNNING);
        seen[found]++;
        if (found == RUN_LOST)
            run_fixture_kill_all (test);
        if (found == RUN_ENDED)
            assert_int_equal (test->view.status.code, 3);
        assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
        assert_int_equal (
            run_prepare (test->root, run_fixture_name.job, run_fixture_name.generation, NULL), 0);
    }
    print_message ("# none %d, ended %d, lost %d\n", seen[RUN_NONE], seen[RUN_ENDED],
                   seen[RUN_LOST]);
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, run_fixture_set_up, run_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_process_identity), TEST (test_lost_tree),
        TEST (test_lost_without_environment),     TEST (test_lost_cgroup),
        TEST (test_killed_at_any_moment),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
