/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans carried out on this machine, with real supervisors and programs: they start, move, stop,
 * fail, and are adopted by another daemon.  Nothing here waits for a fixed time.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend_fixture.h"

/* Saves its work at the stop signal. */
#define SAVES "trap 'echo saved; exit 143' TERM; "
#define LOOP "while :; do sleep 0.02; done"

static enum job_phase phase (const struct fixture *fixture, int job)
{
    return fixture_job (fixture, job)->phase;
}

/* ---- From START to EXIT ------------------------------------------------------------------- */

static void test_finishes (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (fixture, "j", "echo \"$RANK of $WORLD_SIZE\"", NULL);
    PLAN (fixture, {2, 1});
    AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
    assert_int_equal (fixture_event_count (fixture, EVENT_EXIT, job), 1);
    assert_string_equal (fixture_exit (fixture, job)->detail, "");
    char text[64];
    for (int i = 0; i < 3; i++) {
        char file[64], want[64];
        snprintf (file, sizeof (file), "run/j/1/%d/out.log", i);
        snprintf (want, sizeof (want), "%d of 3\n", i);
        fixture_read (fixture, file, text, sizeof (text));
        assert_string_equal (text, want);
    }
    assert_int_equal (fixture->ops->count (fixture->backend), 0);
}

static void test_environment (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    char *variables[] = {"COLOUR=blue", "RANK=7", "POLLUX_RUN=x", "HOME=/elsewhere", NULL};
    launch.environment = variables;
    setenv ("POLLUX_SECRET_OF_THE_DAEMON", "1", 1);
    int job = fixture_submit (fixture, "j", "env > env.$RANK; pwd >> env.$RANK", &launch);
    PLAN (fixture, {1, 2});
    AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
    char text[8192], checkpoints[128], socket[128];
    fixture_read (fixture, "env.2", text, sizeof (text));
    snprintf (checkpoints, sizeof (checkpoints), "\nPOLLUX_CHECKPOINT_DIR=%s/checkpoints/j\n",
              fixture->path);
    snprintf (socket, sizeof (socket), "\nPOLLUX_SOCKET=%s/run/j/1/2/agent.sock\n", fixture->path);
    const char *const wanted[] = {"\nRANK=2\n",
                                  "\nWORLD_SIZE=3\n",
                                  "\nLOCAL_RANK=1\n",
                                  "\nLOCAL_WORLD_SIZE=2\n",
                                  "\nMASTER_ADDR=127.0.0.1\n",
                                  "\nMASTER_PORT=",
                                  "\nPOLLUX_JOB=j\n",
                                  "\nPOLLUX_GENERATION=1\n",
                                  "\nPOLLUX_NODE=b\n",
                                  "\nPOLLUX_NODES=2\n",
                                  "\nPOLLUX_RUN=j.1.2.",
                                  "\nCOLOUR=blue\n",
                                  "\nHOME=/elsewhere\n",
                                  "\nOMP_NUM_THREADS=",
                                  "\nPATH=/usr/local/sbin:",
                                  checkpoints,
                                  socket};
    char around[sizeof (text) + 2];
    snprintf (around, sizeof (around), "\n%s", text);
    for (size_t i = 0; i < COUNT (wanted); i++)
        if (!strstr (around, wanted[i]))
            fail_msg ("no '%s' in %s", wanted[i], around);
    assert_null (strstr (around, "SECRET"));
    assert_null (strstr (around, "secret-of"));
    assert_null (strstr (around, "CUDA"));
    assert_null (strstr (around, "RANK=7"));
    assert_non_null (strstr (around, fixture->path));
    assert_true (fixture_has (fixture, "checkpoints/j"));
}

/* Two jobs never share a slot; each waits until the other has left. */
static void test_slots (void **state)
{
    struct fixture *fixture = *state;
    int first = fixture_submit (fixture, "first", SAVES LOOP, NULL);
    int second = fixture_submit (fixture, "second", SAVES LOOP, NULL);
    PLAN (fixture, {1, 0}, {1, 2});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, first) &&
                        fixture_event_count (fixture, EVENT_STARTED, second));
    char text[4096];
    fixture_read (fixture, "run/first/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[0]"));
    fixture_read (fixture, "run/second/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    fixture_read (fixture, "run/second/1/2/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    /* They exchange their slots. */
    PLAN (fixture, {0, 2}, {2, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, first) == 2 &&
                        fixture_event_count (fixture, EVENT_STARTED, second) == 2);
    assert_int_equal (fixture_job (fixture, first)->restarts, 1);
    assert_int_equal (fixture_exit (fixture, first)->kind, EXITED_STOPPED);
    assert_string_equal (fixture_exit (fixture, first)->detail, "");
    int used = 0;
    for (int i = 0; i < fixture->count; i++) { /* first: 1 then 2, second: 3 then 2 slots of 4 */
        const struct fixture_event *event = &fixture->events[i];
        int slots = event->job == first ? event->generation : 4 - event->generation;
        used += event->type == EVENT_START ? slots : event->type == EVENT_EXIT ? -slots : 0;
        assert_true (used <= 4);
    }
    fixture_cancel (fixture, first);
    fixture_cancel (fixture, second);
    AWAIT (fixture,
           phase (fixture, first) == JOB_CANCELLED && phase (fixture, second) == JOB_CANCELLED);
}

/* On a drained node nothing starts. */
static void test_drained (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (fixture, "j", "true", NULL);
    fixture->loop.cluster.nodes[0].available = false;
    PLAN (fixture, {1, 0});
    for (int i = 0; i < 5; i++)
        fixture_step (fixture);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 0);
    fixture->loop.cluster.nodes[0].available = true;
    AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static void test_stops (void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *script, *detail;
        enum exit_kind kind;
    } cases[] = {
        {SAVES "touch ready.$POLLUX_JOB.$RANK; " LOOP, "", EXITED_STOPPED},
        {"trap 'exit 0' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP, "", EXITED_FINISHED},
        {"trap 'exit 1' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP,
         "work since the last checkpoint is lost: replica 0 ended with exit code 1",
         EXITED_STOPPED},
        {"touch ready.$POLLUX_JOB.$RANK; exec sleep 1000",
         "work since the last checkpoint is lost: replica 0 was ended by signal 15 (Terminated)",
         EXITED_STOPPED},
        /* Inside a shell. */
        {"sh -c \"trap 'exit 143' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP "\"; echo never", "",
         EXITED_STOPPED},
        /* One replica has saved, the other has not. */
        {"trap 'exit 14$((RANK + 3))' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP,
         "work since the last checkpoint is lost: replica 1 ended with exit code 144",
         EXITED_STOPPED},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char name[32], ready[2][64];
        int replicas[COUNT (cases)][2] = {0};
        snprintf (name, sizeof (name), "j%zu", i);
        int job = fixture_submit (fixture, name, cases[i].script, NULL);
        replicas[job][0] = i == 5 ? 2 : 1;
        fixture_plan (fixture, (int)i + 1, replicas);
        for (int rank = 0; rank < 2; rank++)
            snprintf (ready[rank], 64, "ready.%s.%d", name, rank);
        AWAIT (fixture,
               fixture_has (fixture, ready[0]) && (i != 5 || fixture_has (fixture, ready[1])));
        replicas[job][0] = 0;
        fixture_plan (fixture, (int)i + 1, replicas);
        AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
        assert_int_equal (fixture_exit (fixture, job)->kind, cases[i].kind);
        if (i != 2 && i != 3)
            assert_string_equal (fixture_exit (fixture, job)->detail, cases[i].detail);
        else
            assert_non_null (strstr (fixture_exit (fixture, job)->detail, cases[i].detail));
        assert_int_equal (fixture_job (fixture, job)->failures, 0);
        if (phase (fixture, job) == JOB_PENDING)
            fixture_cancel (fixture, job);
    }
}

/* A stop at any moment of a start. */
static void test_early_stop (void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 20; i++) {
        char name[32];
        int replicas[20][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = fixture_submit (fixture, name, "trap 'exit 143' TERM; " LOOP, NULL);
        replicas[job][0] = replicas[job][1] = 2;
        fixture_plan (fixture, i + 1, replicas);
        for (int j = 0; j < i % 7; j++)
            fixture_step (fixture);
        if (i % 2)
            usleep ((unsigned)i * 1000);
        fixture_cancel (fixture, job);
        AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
    }
    assert_int_equal (fixture_processes (fixture, false), 0);
}

/* A supervisor that was halted (SIGSTOP) is stopped nevertheless. */
static void test_halted (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (fixture, "j", SAVES "touch ready; " LOOP, NULL);
    PLAN (fixture, {1, 0});
    AWAIT (fixture, fixture_has (fixture, "ready"));
    kill (fixture_supervisor (fixture, "j", 1, 0), SIGSTOP);
    fixture_cancel (fixture, job);
    AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
    assert_string_equal (fixture_exit (fixture, job)->detail, "");
}

/* Each new daemon asks again to stop; this does not shorten the grace. */
static void test_stop_is_repeatable (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.grace_s = 10000;
    int job = fixture_submit (fixture, "j",
                              "trap 'touch asked; until [ -e go ]; do sleep 0.02; done; exit 143' "
                              "TERM; touch ready; " LOOP,
                              &launch);
    PLAN (fixture, {1, 0});
    AWAIT (fixture, fixture_has (fixture, "ready"));
    PLAN (fixture, {0, 1});
    AWAIT (fixture, fixture_has (fixture, "asked"));
    for (int i = 0; i < 5; i++) {
        fixture_end_daemon (fixture);
        fixture_restart_daemon (fixture);
        for (int j = 0; j < 5; j++)
            fixture_step (fixture);
    }
    assert_int_equal (fixture_event_count (fixture, EVENT_EXIT, job), 0);
    fixture_touch (fixture, "go");
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_STOPPED);
    assert_string_equal (fixture_exit (fixture, job)->detail, "");
}

/* ---- Failing ------------------------------------------------------------------------------ */

static void test_fails (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.max_failures = 2;
    int job = fixture_submit (
        fixture, "j",
        "[ $RANK = 1 ] && { until [ -e ready.$POLLUX_GENERATION ]; do sleep 0.02; done; exit 3; }; "
        "trap 'echo $POLLUX_GENERATION >> stopped; exit 143' TERM; touch "
        "ready.$POLLUX_GENERATION; " LOOP,
        &launch);
    for (int i = 1; i <= 3; i++) {
        PLAN (fixture, {2, 0});
        AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == i);
        assert_int_equal (fixture_exit (fixture, job)->kind,
                          i < 3 ? EXITED_FAILED : EXITED_GAVE_UP);
        assert_int_equal (fixture_job (fixture, job)->failures, i);
        if (i < 3) {
            assert_string_equal (fixture_exit (fixture, job)->detail,
                                 "replica 1 ended with exit code 3");
            assert_int_equal (fixture_job (fixture, job)->retry_us,
                              fixture->now_us + i * 10000000LL);
            /* Before retry_us it is not started. */
            PLAN (fixture, {2, 0});
            fixture_step (fixture);
            assert_int_equal (fixture_event_count (fixture, EVENT_START, job), i);
            fixture->now_us = fixture_job (fixture, job)->retry_us;
        }
    }
    assert_int_equal (phase (fixture, job), JOB_FAILED);
    assert_string_equal (fixture_exit (fixture, job)->detail,
                         "gave up after 3 failures: replica 1 ended with exit code 3");
    assert_int_equal (fixture_job (fixture, job)->restarts, 0);
    char text[64];
    fixture_read (fixture, "stopped", text, sizeof (text));
    assert_string_equal (text, "1\n2\n3\n");
}

/* A command that cannot be started is the job's failure, and the detail says why. */
static void test_cannot_start (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.max_failures = 0;
    char *words[] = {"no-such-program", NULL};
    launch.command = words;
    int missing = fixture_submit (fixture, "missing", NULL, &launch);
    launch.command = NULL;
    launch.directory = "/no/such/directory";
    int nowhere = fixture_submit (fixture, "nowhere", "true", &launch);
    launch.directory = NULL;
    launch.checkpoint_dir = "/proc/nothing/here";
    int unsaved = fixture_submit (fixture, "unsaved", "true", &launch);
    launch.checkpoint_dir = NULL;
    int unnamed = fixture_submit (fixture, "../climbs", "true", &launch);
    PLAN (fixture, {1, 0}, {1, 0}, {0, 1}, {0, 1});
    AWAIT (fixture,
           phase (fixture, missing) == JOB_FAILED && phase (fixture, nowhere) == JOB_FAILED &&
               phase (fixture, unsaved) == JOB_FAILED && phase (fixture, unnamed) == JOB_FAILED);
    assert_non_null (
        strstr (fixture_exit (fixture, missing)->detail, "cannot run 'no-such-program'"));
    assert_non_null (strstr (fixture_exit (fixture, nowhere)->detail, "/no/such/directory"));
    assert_non_null (strstr (fixture_exit (fixture, unsaved)->detail, "/proc/nothing"));
    assert_non_null (strstr (fixture_exit (fixture, unnamed)->detail, "expected a name"));
}

/* If a supervisor is killed, its replica dies with it; that is a failure. */
static void test_supervisor_killed (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (
        fixture, "j", SAVES "setsid sleep 1000 & sleep 1000 & touch ready.$RANK; " LOOP, NULL);
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_has (fixture, "ready.0") && fixture_has (fixture, "ready.1"));
    kill (fixture_supervisor (fixture, "j", 1, 1), SIGKILL);
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_FAILED);
    assert_non_null (strstr (fixture_exit (fixture, job)->detail, "replica 1 is lost"));
    assert_int_equal (fixture_processes (fixture, false), 0);
    /* Its status is written: the next daemon has nothing to kill. */
    fixture->log[0] = '\0';
    fixture_end_daemon (fixture);
    fixture_restart_daemon (fixture);
    assert_int_equal (fixture->ops->count (fixture->backend), 0);
    assert_string_equal (fixture->log, "");
}

/* ---- Daemons come and go ------------------------------------------------------------------ */

static void test_adopted (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (fixture, "j", SAVES "touch ready.$RANK; " LOOP, NULL);
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_has (fixture, "ready.0") && fixture_has (fixture, "ready.1"));
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 1);
    int pid = fixture_supervisor (fixture, "j", 1, 0);
    fixture_end_daemon (fixture);
    fixture_restart_daemon (fixture);
    for (int i = 0; i < 5; i++)
        fixture_step (fixture);
    assert_int_equal (fixture_supervisor (fixture, "j", 1, 0), pid);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
    assert_int_equal (fixture_event_count (fixture, EVENT_STARTED, job), 1);
    /* Its slots are known: another job gets another slot. */
    int other = fixture_submit (fixture, "other", "true", NULL);
    PLAN (fixture, {1, 1}, {1, 0});
    AWAIT (fixture, phase (fixture, other) == JOB_FINISHED);
    char text[4096];
    fixture_read (fixture, "run/other/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    /* Its end is noticed, even while no daemon ran. */
    PLAN (fixture, {0, 2});
    fixture_step (fixture);
    fixture_end_daemon (fixture);
    for (int i = 0; i < 6000 && fixture_processes (fixture, false) > 0; i++)
        usleep (10000);
    fixture_restart_daemon (fixture);
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_STOPPED);
    assert_string_equal (fixture_exit (fixture, job)->detail, "");
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 2);
}

/* Every rank was started once, all with the same port. */
static void check_starts (const struct fixture *fixture, const char *file)
{
    char text[256];
    int ranks = 0, lines = 0;
    fixture_read (fixture, file, text, sizeof (text));
    for (const char *at = text; *at; at = strchr (at, '\n') + 1, lines++) {
        ranks |= 1 << (*at - '0');
        assert_memory_equal (at + 1, text + 1, 6);
    }
    assert_int_equal (lines, 4);
    assert_int_equal (ranks, 15);
}

/* The daemon dies between the commit of START and act, or during act. */
static void test_start_is_repeated (void **state)
{
    struct fixture *fixture = *state;
    struct pollux_error err;
    int rounds = soak_count (150);
    int (*replicas)[2] = calloc ((size_t)rounds, sizeof (replicas[0]));
    assert_non_null (replicas);
    for (int i = 0; i < rounds; i++) {
        char name[32], file[64];
        snprintf (name, sizeof (name), "j%d", i);
        snprintf (file, sizeof (file), "starts.%s", name);
        int job =
            fixture_submit (fixture, name, "echo $RANK.$MASTER_PORT >> starts.$POLLUX_JOB", NULL);
        replicas[job][0] = replicas[job][1] = 2;
        fixture_plan (fixture, i + 1, (const int (*)[2])replicas);
        assert_int_equal (fixture->loop.backend.reconcile (fixture->backend, &fixture->loop, &err),
                          0);
        assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
        if (i % 3 > 0)
            fixture->loop.backend.act (fixture->backend, &fixture->loop.cluster, &err);
        if (i % 3 > 1)
            usleep ((unsigned)(i * 7919 % 20011));
        fixture_end_daemon (fixture);
        fixture_restart_daemon (fixture);
        AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
        check_starts (fixture, file);
    }
    free (replicas);
}

/* Runs of which the journal does not say that they run. */
static void test_orphans (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (fixture, "j", "setsid sleep 1000 & touch ready.$RANK; " LOOP, NULL);
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_has (fixture, "ready.0") && fixture_has (fixture, "ready.1"));
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 1);
    fixture_end_daemon (fixture);
    struct job *known = fixture->loop.cluster.jobs[job]; /* an older journal was restored */
    known->generation = 0;
    known->phase = JOB_PENDING;
    known->placement = (struct placement){0};
    fixture_restart_daemon (fixture);
    assert_non_null (strstr (fixture->log, "the journal does not know that it runs"));
    AWAIT (fixture, fixture->ops->count (fixture->backend) == 0);
    assert_int_equal (fixture_processes (fixture, false), 0);
    assert_false (fixture_has (fixture, "run/j/1"));
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) == 2);
    assert_int_equal (fixture_event_count (fixture, EVENT_EXIT, job), 0);
}

/* Logs are kept by their size: those of the last generations that fit, and all if they are small. */
static void test_old_logs (void **state)
{
    struct fixture *fixture = *state;
    int oldest = 0;
    int job = fixture_submit (fixture, "j", SAVES "touch ready.$POLLUX_GENERATION; " LOOP, NULL);
    for (int i = 1; i <= 5; i++) {
        char ready[32];
        if (i % 2)
            PLAN (fixture, {1, 0});
        else
            PLAN (fixture, {0, 1});
        snprintf (ready, sizeof (ready), "ready.%d", i);
        AWAIT (fixture, fixture_has (fixture, ready));
    }
    for (int i = 1; i <= 5; i++) {
        char log[32];
        snprintf (log, sizeof (log), "run/j/%d/0/out.log", i);
        assert_true (fixture_has (fixture, log));
    }
    assert_int_equal (fixture->ops->oldest_log (fixture->backend, "j", 5, &oldest), 0);
    assert_int_equal (oldest, 1);
    fixture_end_daemon (fixture);
    fixture->log_limit = 1; /* all but the newest go when the next generation ends */
    fixture_restart_daemon (fixture);
    assert_true (fixture_has (fixture, "run/j/1/0/out.log"));
    fixture_cancel (fixture, job);
    AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
    assert_false (fixture_has (fixture, "run/j/1") || fixture_has (fixture, "run/j/4"));
    assert_true (fixture_has (fixture, "run/j/5/0/out.log"));
    assert_int_equal (fixture->ops->oldest_log (fixture->backend, "j", 5, &oldest), 0);
    assert_int_equal (oldest, 5);
}

/* The jobs that ended last keep their logs; the others lose them when a daemon starts. */
static void test_old_jobs (void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 4; i++) {
        char name[8];
        int replicas[4][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = fixture_submit (fixture, name, "true", NULL);
        replicas[job][0] = 1;
        fixture_plan (fixture, 4, (const int (*)[2])replicas);
        AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
    }
    fixture_end_daemon (fixture);
    fixture->keep_jobs = 2;
    fixture_restart_daemon (fixture);
    assert_false (fixture_has (fixture, "run/j0") || fixture_has (fixture, "run/j1"));
    assert_true (fixture_has (fixture, "run/j2/1/0/out.log") &&
                 fixture_has (fixture, "run/j3/1/0/out.log"));
}

/* If this machine cannot start a job, that is not the job's failure. */
static void test_machine_fails (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = fixture_launch ();
    launch.max_failures = 0;
    int job = fixture_submit (fixture, "j", "true", &launch);
    struct rlimit limit, none;
    int lowest = dup (0);
    close (lowest);
    PLAN (fixture, {1, 1});
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)lowest + 2; /* descriptors enough to look, not to start */
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100 && fixture_event_count (fixture, EVENT_EXIT, job) == 0; i++)
        fixture_step (fixture);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_AGAIN);
    assert_non_null (strstr (fixture_exit (fixture, job)->detail, "Too many open files"));
    assert_int_equal (phase (fixture, job), JOB_PENDING);
    assert_int_equal (fixture_job (fixture, job)->failures, 0);
    fixture_step (fixture); /* no start for some seconds */
    assert_int_equal (fixture_event_count (fixture, EVENT_START, job), 1);
    assert_true (fixture->ops->due_us (fixture->backend) < INT64_MAX);
    fixture_end_daemon (fixture);
    fixture_restart_daemon (fixture);
    AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
}

/* The same if the program pollux is missing for a while. */
static void test_no_program (void **state)
{
    struct fixture *fixture = *state;
    char command[256];
    struct launch launch = fixture_launch ();
    launch.max_failures = 0;
    int job = fixture_submit (fixture, "j", "true", &launch);
    fixture_end_daemon (fixture);
    snprintf (fixture->program, sizeof (fixture->program), "%s/program", fixture->path);
    snprintf (command, sizeof (command), "cp /bin/true %s", fixture->program);
    assert_int_equal (system (command), 0);
    fixture_restart_daemon (fixture);
    assert_int_equal (unlink (fixture->program), 0);
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_AGAIN);
    assert_non_null (strstr (fixture_exit (fixture, job)->detail, "No such file"));
    fixture_end_daemon (fixture);
    fixture->program[0] = '\0';
    fixture_restart_daemon (fixture);
    AWAIT (fixture, phase (fixture, job) == JOB_FINISHED);
}

/* A supervisor of an unknown, newer version is not touched, and nothing is started beside it. */
static void test_newer_version (void **state)
{
    struct fixture *fixture = *state;
    char text[4096], path[128];
    struct pollux_error err = {.text = ""};
    fixture_submit (fixture, "j", SAVES LOOP, NULL);
    PLAN (fixture, {1, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, 0) == 1);
    int pid = fixture_supervisor (fixture, "j", 1, 0);
    fixture_end_daemon (fixture);
    fixture_read (fixture, "run/j/1/0/info", text, sizeof (text));
    char *version = strstr (text, "\"version\":1");
    assert_non_null (version);
    version[10] = '9';
    snprintf (path, sizeof (path), "%s/run/j/1/0/info", fixture->path);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    fputs (text, file);
    fclose (file);
    assert_int_equal (fixture_try_restart (fixture, &err), -EPROTO);
    assert_non_null (strstr (err.text, "start the newer polluxd"));
    fixture_end_daemon (fixture);
    assert_int_equal (kill (pid, 0), 0);
}

/* After stop_all no process is left. */
static void test_stop_all (void **state)
{
    struct fixture *fixture = *state;
    int first = fixture_submit (fixture, "first", SAVES LOOP, NULL);
    int second = fixture_submit (fixture, "second", SAVES LOOP, NULL);
    PLAN (fixture, {2, 0}, {0, 2});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, second) == 1);
    fixture->ops->stop_all (fixture->backend);
    AWAIT (fixture, fixture->ops->count (fixture->backend) == 0);
    assert_int_equal (phase (fixture, first), JOB_PENDING);
    assert_int_equal (fixture_event_count (fixture, EVENT_START, first), 1);
    assert_int_equal (fixture_processes (fixture, false), 0);
}

/* ---- Ports -------------------------------------------------------------------------------- */

/* A port that another program took is not the job's failure, three times in succession. */
static void test_port_taken (void **state)
{
    struct fixture *fixture = *state;
    int job = fixture_submit (
        fixture, "j", "echo \"bind: Address already in use\"; echo $MASTER_PORT >> ports; exit 1",
        NULL);
    PLAN (fixture, {1, 0});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 4);
    int again = 0;
    for (int i = 0; i < fixture->count; i++)
        again += fixture->events[i].type == EVENT_EXIT && fixture->events[i].kind == EXITED_AGAIN;
    assert_int_equal (again, 3);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_FAILED);
    assert_int_equal (fixture_job (fixture, job)->failures, 1);
    assert_int_equal (fixture_job (fixture, job)->restarts, 0);
    char text[64];
    fixture_read (fixture, "ports", text, sizeof (text));
    assert_memory_not_equal (text, text + 6, 6); /* another port each time */
}

/* ---- Several programs under one mpirun ---------------------------------------------------- */

static void need_mpirun (void)
{
    if (system ("command -v mpirun >/dev/null") != 0) {
        fprintf (stderr, "SKIPPED: mpirun is not installed\n");
        skip ();
    }
}

static struct launch mpi_launch (void)
{
    struct launch launch = fixture_launch ();
    launch.launcher = LAUNCHER_MPI;
    return launch;
}

static void test_mpi_finishes (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job = fixture_submit (
        fixture, "j", "echo \"$RANK $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $POLLUX_NODE\"",
        &launch);
    PLAN (fixture, {1, 2});
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    if (phase (fixture, job) != JOB_FINISHED)
        fail_msg ("%s\n%s", fixture_exit (fixture, job)->detail, fixture->log);
    char text[64];
    fixture_read (fixture, "run/j/1/0/out.log", text, sizeof (text));
    assert_string_equal (text, "0 0 3 a\n");
    fixture_read (fixture, "run/j/1/2/out.log", text, sizeof (text));
    assert_string_equal (text, "2 2 3 b\n");
    assert_false (fixture_has (fixture, "run/j/1/0.json"));
}

/* Ranks save their work one after the other; mpirun does not kill the slower one. */
static void test_mpi_stops (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job = fixture_submit (fixture, "j",
                              "trap 'until [ -e go.$RANK ]; do sleep 0.02; done; exit 143' TERM; "
                              "touch ready.$RANK; " LOOP,
                              &launch);
    PLAN (fixture, {2, 0});
    AWAIT (fixture, fixture_has (fixture, "ready.0") && fixture_has (fixture, "ready.1"));
    fixture_end_daemon (fixture);
    fixture_restart_daemon (fixture); /* adopts it */
    PLAN (fixture, {1, 1});
    fixture_step (fixture);
    fixture_touch (fixture, "go.1");
    AWAIT (fixture, fixture_has (fixture, "run/j/1/1/status"));
    for (int i = 0; i < 50; i++)
        fixture_step (fixture);
    assert_true (fixture_supervisor (fixture, "j", 1, 0) > 0);
    assert_true (fixture_supervisor (fixture, "j", 1, 2) > 0); /* mpirun's */
    fixture_touch (fixture, "go.0");
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_STOPPED);
    assert_string_equal (fixture_exit (fixture, job)->detail, "");
    AWAIT (fixture, fixture_event_count (fixture, EVENT_STARTED, job) >= 1);
}

/* One rank fails: the others get their grace. */
static void test_mpi_fails (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job =
        fixture_submit (fixture, "j",
                        "[ $RANK = 1 ] && { until [ -e ready.0 ]; do sleep 0.02; done; exit 3; }; "
                        "trap 'until [ -e go ]; do sleep 0.02; done; touch saved; exit 143' TERM; "
                        "touch ready.0; " LOOP,
                        &launch);
    PLAN (fixture, {1, 1});
    AWAIT (fixture, fixture_has (fixture, "run/j/1/1/status"));
    for (int i = 0; i < 50; i++)
        fixture_step (fixture);
    fixture_touch (fixture, "go");
    AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == 1);
    assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_FAILED);
    assert_string_equal (fixture_exit (fixture, job)->detail, "replica 1 ended with exit code 3");
    assert_true (fixture_has (fixture, "saved"));
}

/* Kill mpirun, its supervisor, or a rank's supervisor: a failure, and no process is left. */
static void test_mpi_killed (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    launch.max_failures = 100;
    launch.grace_s = 0.5; /* after setsid, the stop signal does not reach it */
    int job = fixture_submit (
        fixture, "j", "setsid sleep 1000 & touch ready.$POLLUX_GENERATION.$RANK; " LOOP, &launch);
    for (int i = 1; i <= 3; i++) {
        char ready[2][32], text[256], file[64];
        PLAN (fixture, {1, 1});
        for (int rank = 0; rank < 2; rank++)
            snprintf (ready[rank], 32, "ready.%d.%d", i, rank);
        AWAIT (fixture, fixture_has (fixture, ready[0]) && fixture_has (fixture, ready[1]));
        int pid = fixture_supervisor (fixture, "j", i, i == 3 ? 0 : 2);
        if (i == 1) { /* mpirun itself */
            snprintf (file, sizeof (file), "run/j/%d/2/replica", i);
            fixture_read (fixture, file, text, sizeof (text));
            pid = atoi (strstr (text, "\"pid\":") + 6);
        }
        assert_true (pid > 1);
        kill (pid, SIGKILL);
        AWAIT (fixture, fixture_event_count (fixture, EVENT_EXIT, job) == i);
        assert_int_equal (fixture_exit (fixture, job)->kind, EXITED_FAILED);
        if (i < 3 && !strstr (fixture_exit (fixture, job)->detail, "mpirun"))
            fail_msg ("%s", fixture_exit (fixture, job)->detail);
        assert_int_equal (fixture_processes (fixture, false), 0);
        fixture->now_us += 1000000000;
    }
    fixture_cancel (fixture, job);
}

static void test_mpi_early_stop (void **state)
{
    struct fixture *fixture = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    for (int i = 0; i < 8; i++) {
        char name[32];
        int replicas[8][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = fixture_submit (fixture, name, "trap 'exit 143' TERM; " LOOP, &launch);
        replicas[job][0] = replicas[job][1] = 1;
        fixture_plan (fixture, i + 1, replicas);
        for (int j = 0; j < 3 * i; j++)
            fixture_step (fixture);
        fixture_cancel (fixture, job);
        AWAIT (fixture, phase (fixture, job) == JOB_CANCELLED);
        assert_int_equal (fixture_processes (fixture, false), 0);
    }
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_finishes),
        TEST (test_environment),
        TEST (test_slots),
        TEST (test_drained),
        TEST (test_stops),
        TEST (test_early_stop),
        TEST (test_halted),
        TEST (test_stop_is_repeatable),
        TEST (test_fails),
        TEST (test_cannot_start),
        TEST (test_supervisor_killed),
        TEST (test_adopted),
        TEST (test_start_is_repeated),
        TEST (test_orphans),
        TEST (test_old_logs),
        TEST (test_stop_all),
        TEST (test_old_jobs),
        TEST (test_machine_fails),
        TEST (test_no_program),
        TEST (test_newer_version),
        TEST (test_port_taken),
        TEST (test_mpi_finishes),
        TEST (test_mpi_stops),
        TEST (test_mpi_fails),
        TEST (test_mpi_killed),
        TEST (test_mpi_early_stop),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
