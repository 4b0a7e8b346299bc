/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that damage their own run directories, and processes that hide: the daemon neither frees a
 * slot while a process of the job lives, nor runs a generation twice, nor waits for ever.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "backend_fixture.h"

#define SAVES "trap 'echo saved; exit 143' TERM; "
#define LOOP "while :; do sleep 0.02; done"
/* The run directory; the generation's; the job's. */
#define RUN "run=${POLLUX_SOCKET%/*}; generation=${run%/*}; job=${generation%/*}; "

static enum job_phase phase (const struct fixture *fixture, int job)
{
    return fixture_job (fixture, job)->phase;
}

/* Several turns of the loop, with time for looks at runs. */
static void turn (struct fixture *fixture)
{
    for (int i = 0; i < 60; i++) {
        fixture_step (fixture);
        usleep (5000);
    }
}

static bool lives (int pid)
{
    char path[64], line[256] = "";
    snprintf (path, sizeof (path), "/proc/%d/stat", pid);
    FILE *file = fopen (path, "r");
    if (!file)
        return false;
    const char *state = fgets (line, sizeof (line), file) ? strrchr (line, ')') : NULL;
    fclose (file);
    return state && state[2] != 'Z';
}

static int read_pid (const struct fixture *fixture, const char *name)
{
    char text[64];
    fixture_read (fixture, name, text, sizeof (text));
    assert_true (atoi (text) > 0);
    return atoi (text);
}

/* Zombies among the children of this process. */
static int count_zombies (void)
{
    DIR *list = opendir ("/proc");
    const struct dirent *entry;
    int count = 0;
    assert_non_null (list);
    while ((entry = readdir (list))) { /* cppcheck-suppress readdirCalled */
        char path[300], line[256] = "", state = ' ';
        int parent = 0;
        snprintf (path, sizeof (path), "/proc/%.200s/stat", entry->d_name);
        FILE *file = atoi (entry->d_name) > 0 ? fopen (path, "r") : NULL;
        if (!file)
            continue;
        const char *rest = fgets (line, sizeof (line), file) ? strrchr (line, ')') : NULL;
        fclose (file);
        if (rest && sscanf (rest + 1, " %c %d", &state, &parent) == 2)
            count += parent == getpid () && state == 'Z';
    }
    closedir (list);
    return count;
}

/* ---- Damaged run directories -------------------------------------------------------------- */

static const char forged[] = "FORGED={\"version\":1,\"started\":true,\"code\":0,\"signal\":0,"
                             "\"stopped\":false,\"killed\":false,\"at_us\":1}";

/* What a job does to its run directory before it goes on. */
static const char *const damages[] = {
    "mkdir $run/status",
    "mkdir -p $run/status/x $run/status.new/x",
    "ln -s /nowhere $run/status.new",
    "mkfifo $run/status",
    "mv $run $run.away; ln -s $run.away $run",
    "mv $run $run.away; touch $run",
    "rm -rf $run",
    "rm -rf $generation",
    "rm -rf $job",
    "rm -f $run/lock",
    "rm -f $run/lock $run/info",
    "rm -f $run/info; mkdir $run/info",
    "rm -f $run/lock; mkdir $run/lock",
    "chmod 777 $run",
    "chmod 0 $run",
    "printf '%s' \"$FORGED\" >$run/status",
};

/* The job runs on, and its slots stay its own; a cancellation ends it. */
static void test_damage_and_cancel (void **state)
{
    struct fixture *fixture = *state;
    int (*replicas)[2] = calloc (COUNT (damages), sizeof (replicas[0]));
    assert_non_null (replicas);
    for (size_t i = 0; i < COUNT (damages); i++) {
        char name[32], script[1024], ready[64];
        snprintf (name, sizeof (name), "j%zu", i);
        snprintf (ready, sizeof (ready), "ready.%s", name);
        snprintf (script, sizeof (script), "%s" SAVES "%s; touch ready.$POLLUX_JOB; " LOOP, RUN,
                  damages[i]);
        print_message ("# %s\n", damages[i]);
        struct launch launch = fixture_launch ();
        char *variables[] = {(char *)forged, NULL};
        launch.environment = variables;
        int job = fixture_submit (fixture, name, script, &launch);
        replicas[job][0] = 1;
        fixture_plan (fixture, job + 1, (const int (*)[2])replicas);
        AWAIT (fixture, fixture_has (fixture, ready));
        turn (fixture);
        assert_int_equal (fixture_event_count (fixture, EVENT_EXIT, job), 0);
        assert_true (fixture_processes (fixture, false) > 0);
        fixture_cancel (fixture, job);
        AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
        assert_int_equal (fixture_processes (fixture, false), 0);
    }
    free (replicas);
    turn (fixture);
    assert_int_equal (count_zombies (), 0);
}

/* The exit status of the supervisor counts where its file is missing. */
static void test_damage_and_exit (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.max_failures = 0;
    int good = fixture_submit (fixture, "good", RUN "rm -rf $job; exit 0", &launch);
    int bad = fixture_submit (fixture, "bad", RUN "rm -rf $run; exit 7", &launch);
    int linked = fixture_submit (fixture, "linked",
                                 RUN "mv $run $run.away; ln -s $run.away $run; exit 0", &launch);
    PLAN (fixture, {1, 0}, {1, 0}, {0, 1});
    AWAIT (fixture, phase (fixture, good) == JOB_FINISHED);
    AWAIT (fixture, phase (fixture, bad) == JOB_FAILED);
    AWAIT (fixture, phase (fixture, linked) == JOB_FINISHED);
    assert_non_null (strstr (fixture_exit (fixture, bad)->detail, "7"));
    turn (fixture);
    assert_int_equal (count_zombies (), 0);
}

/* The supervisor is killed, and its files do not say what belongs to it. */
static void test_damage_and_kill (void **state)
{
    struct fixture *fixture = *state;
    static const char *const each[] = {"rm -rf $run", "rm -rf $job", "rm -f $run/lock $run/info"};
    int (*replicas)[2] = calloc (COUNT (each), sizeof (replicas[0]));
    assert_non_null (replicas);
    for (size_t i = 0; i < COUNT (each); i++) {
        struct launch launch = fixture_launch ();
        launch.max_failures = 0;
        char name[32], script[1024], ready[64];
        snprintf (name, sizeof (name), "j%zu", i);
        snprintf (ready, sizeof (ready), "ready.%s", name);
        snprintf (script, sizeof (script),
                  "%ssetsid sleep 1000 & until [ -e $run/replica ]; do sleep 0.01; done; "
                  "echo $PPID >ready.new; %s; mv ready.new ready.$POLLUX_JOB; " LOOP,
                  RUN, each[i]);
        int job = fixture_submit (fixture, name, script, &launch);
        replicas[job][0] = 1;
        fixture_plan (fixture, job + 1, (const int (*)[2])replicas);
        AWAIT (fixture, fixture_has (fixture, ready));
        turn (fixture);
        kill (read_pid (fixture, ready), SIGKILL);
        AWAIT (fixture, phase (fixture, job) == JOB_FAILED);
        assert_int_equal (fixture_processes (fixture, false), 0);
    }
    free (replicas);
    turn (fixture);
    assert_int_equal (count_zombies (), 0);
}

/* ---- Another daemon ----------------------------------------------------------------------- */

/* Two at once would find the file locked. */
#define ALONE "exec 9>>alone.$POLLUX_JOB; flock -n 9 || touch twice; "

/* The job removed its directory, and the daemon died: the same generation never runs twice at
 * once. */
static void test_damage_and_recover (void **state)
{
    struct fixture *fixture = *state;
    static const char *const each[] = {"rm -rf $run", "rm -rf $job", "rm -f $run/lock $run/info",
                                       "mv $run $run.away; ln -s $run.away $run"};
    int (*replicas)[2] = calloc (COUNT (each), sizeof (replicas[0]));
    assert_non_null (replicas);
    for (size_t i = 0; i < COUNT (each); i++) {
        char name[32], script[1024], ready[64];
        snprintf (name, sizeof (name), "j%zu", i);
        snprintf (ready, sizeof (ready), "ready.%s", name);
        snprintf (script, sizeof (script),
                  "%s" SAVES ALONE "[ -e ready.$POLLUX_JOB ] || { until [ -e $run/replica ]; do "
                  "sleep 0.01; done; %s; touch ready.$POLLUX_JOB; }; " LOOP,
                  RUN, each[i]);
        print_message ("# %s\n", each[i]);
        int job = fixture_submit (fixture, name, script, NULL);
        replicas[job][0] = 1;
        fixture_plan (fixture, job + 1, (const int (*)[2])replicas);
        AWAIT (fixture, fixture_has (fixture, ready));
        AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 1);
        fixture_end_daemon (fixture);
        fixture_restart_daemon (fixture);
        turn (fixture);
        assert_false (fixture_has (fixture, "twice"));
        fixture_cancel (fixture, job);
        AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
        assert_int_equal (fixture_processes (fixture, false), 0);
        replicas[job][0] = 0;
    }
    free (replicas);
}

/* ---- Processes that hide ------------------------------------------------------------------ */

#define HIDES "setsid env -i sh -c 'echo $$ >hidden; exec sleep 1000' & "

/* A process without session and environment dies with its killed supervisor. */
static void test_hidden (void **state)
{
    struct fixture *fixture = *state;
    for (int adopted = 0; adopted < 2; adopted++) {
        int job = fixture_submit (fixture, adopted ? "b" : "a",
                                  HIDES "until [ -s hidden ]; do sleep 0.01; done; "
                                        "touch ready.$POLLUX_JOB; " LOOP,
                                  NULL);
        if (adopted)
            PLAN (fixture, {0, 0}, {1, 0});
        else
            PLAN (fixture, {1, 0});
        AWAIT (fixture, fixture_has (fixture, adopted ? "ready.b" : "ready.a"));
        AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 1);
        int hidden = read_pid (fixture, "hidden");
        assert_true (lives (hidden));
        if (adopted) {
            fixture_end_daemon (fixture);
            fixture_restart_daemon (fixture);
        }
        kill (fixture_supervisor (fixture, adopted ? "b" : "a", 1, 0), SIGKILL);
        AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
        assert_false (lives (hidden));
        fixture_cancel (fixture, job);
        char path[128];
        snprintf (path, sizeof (path), "%s/hidden", fixture->path);
        unlink (path);
    }
}

/* ---- Temporary directories ---------------------------------------------------------------- */

/* Supervisors that die before they publish their directory leave none. */
static void test_temporary (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.max_failures = 0;
    setenv ("POLLUX_FAULT", "run-publish:1", 1);
    int job = fixture_submit (fixture, "j", "true", &launch);
    PLAN (fixture, {2, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    unsetenv ("POLLUX_FAULT");
    char path[128];
    snprintf (path, sizeof (path), "%s/run/j/1", fixture->path);
    DIR *list = opendir (path);
    const struct dirent *entry;
    assert_non_null (list);
    while ((entry = readdir (list))) /* cppcheck-suppress readdirCalled */
        if (entry->d_name[0] == '.' && strcmp (entry->d_name, ".") && strcmp (entry->d_name, ".."))
            fail_msg ("%s is left", entry->d_name);
    closedir (list);
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_damage_and_cancel),  TEST (test_damage_and_exit), TEST (test_damage_and_kill),
        TEST (test_damage_and_recover), TEST (test_hidden),          TEST (test_temporary),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
