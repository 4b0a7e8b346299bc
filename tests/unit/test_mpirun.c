/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpirun beside supervisors, with real processes and a shell script in place of mpirun: the files for the launch agent, and how a
 * run ends with its replica, its proxy, mpirun and requests to stop.  tests/slurm/service_mpi.sh has Open MPI.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/mpirun.h"
#include "backend/supervisor.h"
#include "base/file.h"
#include "run_fixture.h"

/* The path of a file in the generation's directory. */
static void path_of (const struct run_fixture *test, const char *file, char ret[128])
{
    snprintf (ret, 128, "%s/run/job/3%s%s", test->path, *file ? "/" : "", file);
}

static void assert_file (const struct run_fixture *test, const char *file, const char *expected)
{
    char path[128], *text;
    size_t length;
    path_of (test, file, path);
    assert_int_equal (file_read (path, 4096, &text, &length, NULL), 0);
    assert_string_equal (text, expected);
    free (text);
}

/* In a child process, whose descriptors supervisor_prepare closes: open the run of the fixture. */
static struct run_name begin_child (const struct run_fixture *test, int *ret_root)
{
    struct run_name name;
    char path[128];
    path_of (test, "1", path);
    if (supervisor_prepare (NULL) < 0 || run_path_open (path, ret_root, &name, NULL) < 0)
        _exit (99);
    return name;
}

static int wait_for (int pid)
{
    int status;
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

/* ---- mpirun ------------------------------------------------------------------------------- */

/* Run a shell script as mpirun; its exit code. */
static int run_mpirun (const struct run_fixture *test, const char *script, int world)
{
    char path[128], directory[128], variable[128];
    snprintf (path, sizeof (path), "%s/mpirun", test->path);
    snprintf (variable, sizeof (variable), "PATH=%s:/usr/bin:/bin", test->path);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    fprintf (file, "#!/bin/sh\n%s\n", script);
    fclose (file);
    assert_int_equal (chmod (path, 0700), 0);
    path_of (test, "", directory);
    int child = fork ();
    if (child == 0) {
        char *environment[] = {variable, NULL};
        struct run_description description = {.environment = environment, .grace_s = 5};
        struct mpirun mpirun = {.path = directory, .world = world, .description = &description};
        mpirun.name = begin_child (test, &mpirun.root);
        _exit (mpirun_run (&mpirun));
    }
    return wait_for (child);
}

static int publish (const struct run_fixture *test, int first, int count, const char *id,
                    const char *node)
{
    struct run_name name = run_fixture_name;
    name.rank = first;
    setenv ("SLURM_JOB_ID", id, 1);
    setenv ("SLURMD_NODENAME", node, 1);
    return mpirun_publish_share (test->root, &name, count, NULL);
}

static void test_files (void **state)
{
    struct run_fixture *test = *state;
    assert_int_equal (publish (test, 5, 3, "19", "n2"), 0);
    assert_int_equal (publish (test, 0, 4, "17", "n0"), 0);
    assert_int_equal (publish (test, 4, 1, "18", "n1"), 0);
    assert_int_equal (publish (test, 4, 1, "20", "n1"), -EEXIST);
    assert_int_equal (publish (test, 8, 1, "", "n1"), -EINVAL);
    assert_int_equal (publish (test, 8, 1, "1;", "n1"), -EINVAL);
    assert_int_equal (publish (test, 8, 1, "21", "n1;"), -EINVAL);
    setenv ("SLURM_CONF", "/conf", 1);
    assert_int_equal (run_mpirun (test,
                                  "sh ./agent n7 2>/dev/null; shift $(($# - 4)); echo "
                                  "$SLURM_JOB_ID $SLURM_CONF $1 $2 $3 >seen; exit 9",
                                  8),
                      0);
    assert_file (test, "seen", "/conf exec --mpi --share\n");
    assert_file (test, "hosts", "n0 slots=4\nn1 slots=1\nn2 slots=3\n");
    assert_file (test, "mpirun", "it ended with exit code 9");
    char path[128], *text;
    size_t length;
    path_of (test, "agent", path);
    assert_int_equal (file_read (path, 4096, &text, &length, NULL), 0);
    assert_non_null (strstr (text, "n0) job=17;;\nn1) job=18;;\nn2) job=19;;\n*) "));
    free (text);
}

/* ---- Ranks -------------------------------------------------------------------------------- */

static int start_supervisor (const struct run_fixture *test, const char *script)
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
                                          .grace_s = 20,
                                          .log_size = 1 << 20};
    struct supervisor_options options = {.in_step = true, .mpi = true};
    struct run_status status = {0};
    int root;
    struct run_name name = begin_child (test, &root);
    int code = supervisor_run (root, &name, &description, &options, &status, NULL);
    _exit (code < 0 ? 99 : run_status_code (&status));
}

/* Open MPI's daemon: it starts a proxy, and ends when it is killed. */
static int start_parent (const struct run_fixture *test, int *ret_proxy)
{
    int ends[2], root;
    assert_int_equal (pipe (ends), 0);
    int parent = fork ();
    if (parent == 0) {
        int proxy = fork ();
        if (proxy == 0) {
            char *variables[] = {"OMPI_GIVEN=7", "PMIX_GIVEN=a\nb", NULL};
            struct run_name name = begin_child (test, &root);
            _exit (-supervisor_mpi_proxy (root, &name, variables, NULL));
        }
        if (write (ends[1], &proxy, sizeof (proxy)) != sizeof (proxy))
            _exit (99);
        waitpid (proxy, NULL, 0);
        for (;;)
            pause ();
    }
    assert_int_equal (read (ends[0], ret_proxy, sizeof (*ret_proxy)), sizeof (*ret_proxy));
    close (ends[0]);
    close (ends[1]);
    return parent;
}

static bool has_begun (struct run_fixture *test)
{
    char path[128];
    path_of (test, "ready", path);
    return access (path, F_OK) == 0;
}

/* Wait for a condition; false after a minute. */
static bool await (struct run_fixture *test, bool (*what) (struct run_fixture *))
{
    for (int i = 0; i < 6000 && !what (test); i++)
        run_fixture_pause_ms (10);
    return what (test);
}

static bool has_status (struct run_fixture *test)
{
    char path[128];
    path_of (test, "1/status", path);
    return access (path, F_OK) == 0;
}

enum act { NOTHING, KILL_PROXY, KILL_PROXY_AND_STOP, STOP };

static void test_ends (void **state)
{
    static const struct {
        const char *script;
        enum act act;
        int code, signal;
        bool stopped, outside;
        const char *why;
    } cases[] = {
        {"[ \"$OMPI_GIVEN$PMIX_GIVEN\" = '7a\nb' ]", NOTHING, 0, 0, false, false, ""},
        {"exit 3", NOTHING, 3, 0, false, false, ""},
        {"exec sleep 1000", KILL_PROXY, 0, SIGKILL, false, false,
         "mpirun ended it; the replica ended with signal 9"},
        {"while :; do sleep 0.1; done", KILL_PROXY_AND_STOP, 143, 0, true, true, ""},
        {"while :; do sleep 0.1; done", STOP, 143, 0, true, true, ""},
    };
    struct run_fixture *test = *state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        char script[256], ready[128];
        int proxy, parent = start_parent (test, &proxy);
        path_of (test, "ready", ready);
        /* The trap comes before the file that the test waits for. */
        snprintf (script, sizeof (script), "trap 'exit 143' TERM; touch %s; %s", ready,
                  cases[i].script);
        int supervisor = start_supervisor (test, script);
        assert_true (await (test, has_begun));
        if (cases[i].act == KILL_PROXY || cases[i].act == KILL_PROXY_AND_STOP)
            kill (proxy, SIGKILL);
        if (cases[i].act == STOP || cases[i].act == KILL_PROXY_AND_STOP)
            kill (supervisor, SIGTERM);
        assert_true (await (test, has_status));
        assert_int_equal (waitpid (supervisor, NULL, WNOHANG), 0); /* it waits for the parent */
        run_fixture_kill_child (parent);
        wait_for (supervisor);
        assert_int_equal (run_fixture_look (test), RUN_ENDED);
        const struct run_status *status = &test->view.status;
        assert_int_equal (status->code, cases[i].code);
        assert_int_equal (status->signal, cases[i].signal);
        assert_int_equal (status->stopped, cases[i].stopped);
        assert_int_equal (status->outside, cases[i].outside);
        assert_string_equal (status->why, cases[i].why);
        assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
        assert_int_equal (run_prepare (test->root, "job", 3, NULL), 0);
    }
}

/* If the supervisor is killed, or has ended before the proxy began, the proxy ends. */
static void test_lonely_proxy (void **state)
{
    struct run_fixture *test = *state;
    struct run_status refused = {.code = 143, .stopped = true};
    for (int i = 0; i < 2; i++) {
        char script[256], ready[128];
        path_of (test, "ready", ready);
        snprintf (script, sizeof (script), "touch %s; exec sleep 1000", ready);
        if (i == 0)
            assert_int_equal (run_refuse (test->root, &run_fixture_name, &refused, NULL), 0);
        int supervisor = i == 1 ? start_supervisor (test, script) : 0;
        int root, proxy = fork ();
        if (proxy == 0) {
            char *variables[] = {NULL};
            struct run_name name = begin_child (test, &root);
            _exit (-supervisor_mpi_proxy (root, &name, variables, NULL));
        }
        if (i == 1) {
            assert_true (await (test, has_begun));
            run_fixture_kill_child (supervisor);
        }
        assert_int_equal (wait_for (proxy), 0);
        if (i == 1) {
            assert_int_equal (run_fixture_look (test), RUN_LOST);
            run_fixture_kill_all (test);
        }
        assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
        assert_int_equal (run_prepare (test->root, "job", 3, NULL), 0);
    }
}

/* mpirun that fails before it starts the ranks is not the job's fault. */
static void test_excuse (void **state)
{
    struct run_fixture *test = *state;
    int supervisor = start_supervisor (test, "exit 0");
    assert_int_equal (publish (test, 0, 2, "17", "n0"), 0);
    assert_int_equal (run_mpirun (test, "exit 1", 2), 0);
    wait_for (supervisor);
    assert_int_equal (run_fixture_look (test), RUN_ENDED);
    assert_int_equal (test->view.status.code, 126);
    assert_true (test->view.status.excused);
    assert_string_equal (
        test->view.status.why,
        "mpirun did not start it: it ended with exit code 1; see run/job/3/share-0.out");
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, run_fixture_set_up, run_fixture_tear_down)
    const struct CMUnitTest tests[] = {TEST (test_files), TEST (test_ends),
                                       TEST (test_lonely_proxy), TEST (test_excuse)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
