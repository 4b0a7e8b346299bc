/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "run_fixture.h"

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/safe_dir.h"

const struct run_name run_fixture_name = {.job = "job", .generation = 3, .rank = 1};

int run_fixture_set_up (void **state)
{
    struct run_fixture *test = calloc (1, sizeof (*test));
    assert_non_null (test);
    snprintf (test->path, sizeof (test->path), "%s/pollux-run-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (test->path));
    assert_int_equal (run_root_open (test->path, &test->root, NULL), 0);
    assert_int_equal (
        run_prepare (test->root, run_fixture_name.job, run_fixture_name.generation, NULL), 0);
    *state = test;
    return 0;
}

/* A failed test leaves its supervisor running. */
static void kill_rest (struct run_fixture *test)
{
    if (run_look (test->root, &run_fixture_name, &test->view, NULL) < 0 || !test->view.has_info)
        return;
    if (test->view.state == RUN_RUNNING && test->view.info.supervisor.pid != getpid ())
        run_fixture_kill_child (test->view.info.supervisor.pid);
    if (test->view.state != RUN_ENDED)
        run_fixture_kill_all (test);
}

int run_fixture_tear_down (void **state)
{
    struct run_fixture *test = *state;
    kill_rest (test);
    close (test->root);
    const char *slash = strrchr (test->path, '/');
    int tmp = open (temporary_folder (), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal (safe_dir_remove (tmp, slash + 1, NULL), 0);
    close (tmp);
    free (test);
    return 0;
}

/* In a child, because run_look in this process would release the lock. */
int run_fixture_in_child (struct run_fixture *test,
                          int (*what) (struct run_fixture *, struct pollux_error *),
                          struct pollux_error *err)
{
    struct answer {
        int code;
        struct run_view view;
        struct pollux_error err;
    } * answer;
    int may = PROT_READ | PROT_WRITE, how = MAP_SHARED | MAP_ANONYMOUS;
    /* cppcheck-suppress invalidFunctionArg */
    answer = mmap (NULL, sizeof (*answer), may, how, -1, 0);
    assert_true (answer != MAP_FAILED);
    int wait_status, child = fork ();
    if (child == 0) {
        answer->code = what (test, &answer->err);
        answer->view = test->view;
        _exit (0);
    }
    assert_int_equal (waitpid (child, &wait_status, 0), child);
    assert_int_equal (wait_status, 0);
    int code = answer->code;
    test->view = answer->view;
    if (err)
        *err = answer->err;
    munmap (answer, sizeof (*answer));
    return code;
}

int run_fixture_try_look (struct run_fixture *test, struct pollux_error *err)
{
    return run_look (test->root, &run_fixture_name, &test->view, err);
}

enum run_state run_fixture_look (struct run_fixture *test)
{
    struct pollux_error err;
    int code = run_fixture_in_child (test, run_fixture_try_look, &err);
    if (code < 0)
        fail_msg ("run_look: %s", err.text);
    return test->view.state;
}

void run_fixture_pause_ms (long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep (&pause, NULL);
}

void run_fixture_kill_child (int pid)
{
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
}

int run_fixture_kill_all (struct run_fixture *test)
{
    struct pollux_error err = {.text = ""};
    int first = run_kill (test->root, &run_fixture_name, &test->view, &err), left = first;
    for (int i = 0; i < 6000 && left > 0; i++) {
        run_fixture_pause_ms (10);
        left = run_kill (test->root, &run_fixture_name, &test->view, &err);
    }
    if (left != 0)
        fail_msg ("%d processes are left: %s", left, err.text);
    return first;
}
