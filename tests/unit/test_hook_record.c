/* SPDX-License-Identifier: Apache-2.0 */
/* Records of hooks that run: what is killed by the next polluxd, by what the record says. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/hook_record.h"

/* A process that leads its session and sleeps. */
static int start_sleeper (void)
{
    int ready[2];
    char byte = 0;
    assert_int_equal (pipe (ready), 0);
    int pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        setsid ();
        if (write (ready[1], "x", 1) == 1)
            pause ();
        _exit (1);
    }
    assert_int_equal (read (ready[0], &byte, 1), 1);
    close (ready[0]);
    close (ready[1]);
    return pid;
}

/* How the process ended, after it was killed if it still runs. */
static bool was_killed (int pid)
{
    int status = 0;
    kill (pid, SIGTERM);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
}

/* Change the record: cut its host off, or put another one there. */
static void change_host (const char *path, const char *host)
{
    char *text = NULL;
    size_t length = 0;
    assert_int_equal (file_read (path, 1024, &text, &length, NULL), 0);
    char *last = strrchr (text, ' ');
    FILE *file = fopen (path, "we");
    assert_non_null (last);
    assert_non_null (file);
    fprintf (file, "%.*s%s%s\n", (int)(last - text), text, *host ? " " : "", host);
    assert_int_equal (fclose (file), 0);
    free (text);
}

static void records (void **state)
{
    (void)state;
    static const struct {
        const char *host; /* NULL: as it was written */
        int number, killed;
    } rows[] = {{NULL, 0, 1}, {NULL, 3, 1}, {"", 0, 1}, {"elsewhere.example", 0, -EXDEV}};
    char directory[256];
    snprintf (directory, sizeof (directory), "%s/hook-record.XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (directory));
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct pollux_error err = {.text = ""};
        char path[300];
        int pid = start_sleeper ();
        snprintf (path, sizeof (path), rows[i].number ? "%s/hook.grow.%d" : "%s/hook.grow",
                  directory, rows[i].number);
        assert_int_equal (hook_record_write (directory, "grow", rows[i].number, pid, &err), 0);
        if (rows[i].host)
            change_host (path, rows[i].host);
        assert_int_equal (hook_record_kill (directory, "shrink", rows[i].number, &err), 0);
        assert_int_equal (hook_record_kill (directory, "grow", rows[i].number, &err),
                          rows[i].killed);
        assert_int_equal (was_killed (pid), rows[i].killed > 0);
        if (rows[i].killed < 0)
            assert_non_null (strstr (err.text, "on host elsewhere.example"));
        assert_int_equal (hook_record_kill (directory, "grow", rows[i].number, &err), 0);
    }
    assert_int_equal (rmdir (directory), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (records)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
