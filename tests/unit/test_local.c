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

#include "lives.h"

/* Saves its work when it is asked to stop. */
#define SAVES "trap 'echo saved; exit 143' TERM; "
#define LOOP "while :; do sleep 0.02; done"

static enum job_phase phase (const struct lives *lives, int job)
{
    return lives_job (lives, job)->phase;
}

/* ---- From START to EXIT ------------------------------------------------------------------- */

static void test_finishes (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", "echo \"$RANK of $WORLD_SIZE\"", NULL);
    PLAN (lives, {2, 1});
    AWAIT (lives, phase (lives, job) == JOB_FINISHED);
    assert_int_equal (lives_seen (lives, EVENT_START, job), 1);
    assert_int_equal (lives_seen (lives, EVENT_EXIT, job), 1);
    assert_string_equal (lives_exit (lives, job)->detail, "");
    char text[64];
    for (int i = 0; i < 3; i++) {
        char file[64], want[64];
        snprintf (file, sizeof (file), "run/j/1/%d/out.log", i);
        snprintf (want, sizeof (want), "%d of 3\n", i);
        lives_read (lives, file, text, sizeof (text));
        assert_string_equal (text, want);
    }
    assert_int_equal (local_count (lives->local), 0);
}

static void test_environment (void **state)
{
    struct lives *lives = *state;
    struct launch launch = lives_launch ();
    char *variables[] = {"COLOUR=blue", "RANK=7", "POLLUX_RUN=x", "HOME=/elsewhere", NULL};
    launch.environment = variables;
    setenv ("POLLUX_SECRET_OF_THE_DAEMON", "1", 1);
    int job = lives_submit (lives, "j", "env > env.$RANK; pwd >> env.$RANK", &launch);
    PLAN (lives, {1, 2});
    AWAIT (lives, phase (lives, job) == JOB_FINISHED);
    char text[8192], checkpoints[128], socket[128];
    lives_read (lives, "env.2", text, sizeof (text));
    snprintf (checkpoints, sizeof (checkpoints), "\nPOLLUX_CHECKPOINT_DIR=%s/checkpoints/j\n",
              lives->path);
    snprintf (socket, sizeof (socket), "\nPOLLUX_SOCKET=%s/run/j/1/2/agent.sock\n", lives->path);
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
    assert_non_null (strstr (around, lives->path));
    assert_true (lives_has (lives, "checkpoints/j"));
}

/* Two jobs never share a slot; the second waits until the first has gone. */
static void test_slots (void **state)
{
    struct lives *lives = *state;
    int first = lives_submit (lives, "first", SAVES LOOP, NULL);
    int second = lives_submit (lives, "second", SAVES LOOP, NULL);
    PLAN (lives, {1, 0}, {1, 2});
    AWAIT (lives,
           lives_seen (lives, EVENT_STARTED, first) && lives_seen (lives, EVENT_STARTED, second));
    char text[4096];
    lives_read (lives, "run/first/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[0]"));
    lives_read (lives, "run/second/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    lives_read (lives, "run/second/1/2/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    /* Both want what the other one has. */
    PLAN (lives, {0, 2}, {2, 0});
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, first) == 2 &&
                      lives_seen (lives, EVENT_STARTED, second) == 2);
    assert_int_equal (lives_job (lives, first)->restarts, 1);
    assert_int_equal (lives_exit (lives, first)->kind, EXITED_STOPPED);
    assert_string_equal (lives_exit (lives, first)->detail, "");
    int used = 0;
    for (int i = 0; i < lives->count; i++) { /* first: 1 then 2, second: 3 then 2 slots of 4 */
        const struct lives_event *event = &lives->events[i];
        int slots = event->job == first ? event->generation : 4 - event->generation;
        used += event->type == EVENT_START ? slots : event->type == EVENT_EXIT ? -slots : 0;
        assert_true (used <= 4);
    }
    lives_cancel (lives, first);
    lives_cancel (lives, second);
    AWAIT (lives, phase (lives, first) == JOB_CANCELLED && phase (lives, second) == JOB_CANCELLED);
}

/* A node that is drained takes nobody. */
static void test_drained (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", "true", NULL);
    lives->loop.cluster.nodes[0].available = false;
    PLAN (lives, {1, 0});
    for (int i = 0; i < 5; i++)
        lives_step (lives);
    assert_int_equal (lives_seen (lives, EVENT_START, job), 0);
    lives->loop.cluster.nodes[0].available = true;
    AWAIT (lives, phase (lives, job) == JOB_FINISHED);
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static void test_stops (void **state)
{
    struct lives *lives = *state;
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
        /* A shell around it. */
        {"sh -c \"trap 'exit 143' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP "\"; echo never", "",
         EXITED_STOPPED},
        /* One has saved, the other has not. */
        {"trap 'exit 14$((RANK + 3))' TERM; touch ready.$POLLUX_JOB.$RANK; " LOOP,
         "work since the last checkpoint is lost: replica 1 ended with exit code 144",
         EXITED_STOPPED},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char name[32], ready[2][64];
        int replicas[COUNT (cases)][2] = {0};
        snprintf (name, sizeof (name), "j%zu", i);
        int job = lives_submit (lives, name, cases[i].script, NULL);
        replicas[job][0] = i == 5 ? 2 : 1;
        lives_plan (lives, (int)i + 1, replicas);
        for (int rank = 0; rank < 2; rank++)
            snprintf (ready[rank], 64, "ready.%s.%d", name, rank);
        AWAIT (lives, lives_has (lives, ready[0]) && (i != 5 || lives_has (lives, ready[1])));
        replicas[job][0] = 0;
        lives_plan (lives, (int)i + 1, replicas);
        AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
        assert_int_equal (lives_exit (lives, job)->kind, cases[i].kind);
        if (i != 2 && i != 3)
            assert_string_equal (lives_exit (lives, job)->detail, cases[i].detail);
        else
            assert_non_null (strstr (lives_exit (lives, job)->detail, cases[i].detail));
        assert_int_equal (lives_job (lives, job)->failures, 0);
        if (phase (lives, job) == JOB_PENDING)
            lives_cancel (lives, job);
    }
}

/* A stop before anything runs, at any moment of a start. */
static void test_early_stop (void **state)
{
    struct lives *lives = *state;
    for (int i = 0; i < 20; i++) {
        char name[32];
        int replicas[20][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = lives_submit (lives, name, "trap 'exit 143' TERM; " LOOP, NULL);
        replicas[job][0] = replicas[job][1] = 2;
        lives_plan (lives, i + 1, replicas);
        for (int j = 0; j < i % 7; j++)
            lives_step (lives);
        if (i % 2)
            usleep ((unsigned)i * 1000);
        lives_cancel (lives, job);
        AWAIT (lives, phase (lives, job) == JOB_CANCELLED);
    }
    assert_int_equal (lives_processes (lives, false), 0);
}

/* A supervisor that somebody has halted. */
static void test_halted (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", SAVES "touch ready; " LOOP, NULL);
    PLAN (lives, {1, 0});
    AWAIT (lives, lives_has (lives, "ready"));
    kill (lives_supervisor (lives, "j", 1, 0), SIGSTOP);
    lives_cancel (lives, job);
    AWAIT (lives, phase (lives, job) == JOB_CANCELLED);
    assert_string_equal (lives_exit (lives, job)->detail, "");
}

/* The daemon asks again after its return: the grace is not cut short. */
static void test_stop_is_repeatable (void **state)
{
    struct lives *lives = *state;
    struct launch launch = lives_launch ();
    launch.grace_s = 10000;
    int job = lives_submit (lives, "j",
                            "trap 'touch asked; until [ -e go ]; do sleep 0.02; done; exit 143' "
                            "TERM; touch ready; " LOOP,
                            &launch);
    PLAN (lives, {1, 0});
    AWAIT (lives, lives_has (lives, "ready"));
    PLAN (lives, {0, 1});
    AWAIT (lives, lives_has (lives, "asked"));
    for (int i = 0; i < 5; i++) {
        lives_die (lives);
        lives_return (lives);
        for (int j = 0; j < 5; j++)
            lives_step (lives);
    }
    assert_int_equal (lives_seen (lives, EVENT_EXIT, job), 0);
    lives_touch (lives, "go");
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_STOPPED);
    assert_string_equal (lives_exit (lives, job)->detail, "");
}

/* ---- Failing ------------------------------------------------------------------------------ */

static void test_fails (void **state)
{
    struct lives *lives = *state;
    struct launch launch = lives_launch ();
    launch.max_failures = 2;
    int job = lives_submit (
        lives, "j",
        "[ $RANK = 1 ] && { until [ -e ready.$POLLUX_GENERATION ]; do sleep 0.02; done; exit 3; }; "
        "trap 'echo $POLLUX_GENERATION >> stopped; exit 143' TERM; touch "
        "ready.$POLLUX_GENERATION; " LOOP,
        &launch);
    for (int i = 1; i <= 3; i++) {
        PLAN (lives, {2, 0});
        AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == i);
        assert_int_equal (lives_exit (lives, job)->kind, i < 3 ? EXITED_FAILED : EXITED_GAVE_UP);
        assert_int_equal (lives_job (lives, job)->failures, i);
        if (i < 3) {
            assert_string_equal (lives_exit (lives, job)->detail,
                                 "replica 1 ended with exit code 3");
            assert_int_equal (lives_job (lives, job)->retry_us, lives->now_us + i * 10000000LL);
            /* Too early: nobody starts it. */
            PLAN (lives, {2, 0});
            lives_step (lives);
            assert_int_equal (lives_seen (lives, EVENT_START, job), i);
            lives->now_us = lives_job (lives, job)->retry_us;
        }
    }
    assert_int_equal (phase (lives, job), JOB_FAILED);
    assert_string_equal (lives_exit (lives, job)->detail,
                         "gave up after 3 failures: replica 1 ended with exit code 3");
    assert_int_equal (lives_job (lives, job)->restarts, 0);
    char text[64];
    lives_read (lives, "stopped", text, sizeof (text));
    assert_string_equal (text, "1\n2\n3\n");
}

/* What cannot be started is the job's failure, in a sentence. */
static void test_cannot_start (void **state)
{
    struct lives *lives = *state;
    struct launch launch = lives_launch ();
    launch.max_failures = 0;
    char *words[] = {"no-such-program", NULL};
    launch.command = words;
    int missing = lives_submit (lives, "missing", NULL, &launch);
    launch.command = NULL;
    launch.directory = "/no/such/directory";
    int nowhere = lives_submit (lives, "nowhere", "true", &launch);
    launch.directory = NULL;
    launch.checkpoint_dir = "/proc/nothing/here";
    int unsaved = lives_submit (lives, "unsaved", "true", &launch);
    launch.checkpoint_dir = NULL;
    int unnamed = lives_submit (lives, "../climbs", "true", &launch);
    PLAN (lives, {1, 0}, {1, 0}, {0, 1}, {0, 1});
    AWAIT (lives, phase (lives, missing) == JOB_FAILED && phase (lives, nowhere) == JOB_FAILED &&
                      phase (lives, unsaved) == JOB_FAILED && phase (lives, unnamed) == JOB_FAILED);
    assert_non_null (strstr (lives_exit (lives, missing)->detail, "cannot run 'no-such-program'"));
    assert_non_null (strstr (lives_exit (lives, nowhere)->detail, "/no/such/directory"));
    assert_non_null (strstr (lives_exit (lives, unsaved)->detail, "/proc/nothing"));
    assert_non_null (strstr (lives_exit (lives, unnamed)->detail, "expected a name"));
}

/* A supervisor that is killed takes its replica with it; that is a failure. */
static void test_supervisor_killed (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (
        lives, "j", SAVES "setsid sleep 1000 & sleep 1000 & touch ready.$RANK; " LOOP, NULL);
    PLAN (lives, {1, 1});
    AWAIT (lives, lives_has (lives, "ready.0") && lives_has (lives, "ready.1"));
    kill (lives_supervisor (lives, "j", 1, 1), SIGKILL);
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_FAILED);
    assert_non_null (strstr (lives_exit (lives, job)->detail, "replica 1 is lost"));
    assert_int_equal (lives_processes (lives, false), 0);
    /* It is settled: the next daemon has nothing to kill. */
    lives->said[0] = '\0';
    lives_die (lives);
    lives_return (lives);
    assert_int_equal (local_count (lives->local), 0);
    assert_string_equal (lives->said, "");
}

/* ---- Daemons come and go ------------------------------------------------------------------ */

static void test_adopted (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", SAVES "touch ready.$RANK; " LOOP, NULL);
    PLAN (lives, {1, 1});
    AWAIT (lives, lives_has (lives, "ready.0") && lives_has (lives, "ready.1"));
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, job) == 1);
    int pid = lives_supervisor (lives, "j", 1, 0);
    lives_die (lives);
    lives_return (lives);
    for (int i = 0; i < 5; i++)
        lives_step (lives);
    assert_int_equal (lives_supervisor (lives, "j", 1, 0), pid);
    assert_int_equal (lives_seen (lives, EVENT_START, job), 1);
    assert_int_equal (lives_seen (lives, EVENT_STARTED, job), 1);
    /* Its slots are known: another one goes elsewhere. */
    int other = lives_submit (lives, "other", "true", NULL);
    PLAN (lives, {1, 1}, {1, 0});
    AWAIT (lives, phase (lives, other) == JOB_FINISHED);
    char text[4096];
    lives_read (lives, "run/other/1/0/info", text, sizeof (text));
    assert_non_null (strstr (text, "\"slots\":[1]"));
    /* Its end is noticed, also one that came while nobody was there. */
    PLAN (lives, {0, 2});
    lives_step (lives);
    lives_die (lives);
    for (int i = 0; i < 6000 && lives_processes (lives, false) > 0; i++)
        usleep (10000);
    lives_return (lives);
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_STOPPED);
    assert_string_equal (lives_exit (lives, job)->detail, "");
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, job) == 2);
}

/* Every rank was started once, and all were told the same port. */
static void check_starts (const struct lives *lives, const char *file)
{
    char text[256];
    int ranks = 0, lines = 0;
    lives_read (lives, file, text, sizeof (text));
    for (const char *at = text; *at; at = strchr (at, '\n') + 1, lines++) {
        ranks |= 1 << (*at - '0');
        assert_memory_equal (at + 1, text + 1, 6);
    }
    assert_int_equal (lines, 4);
    assert_int_equal (ranks, 15);
}

/* A daemon that dies between the commit of START and the act, or in the midst of it. */
static void test_start_is_repeated (void **state)
{
    struct lives *lives = *state;
    struct pollux_error err;
    int rounds = soak_count (150);
    int (*replicas)[2] = calloc ((size_t)rounds, sizeof (replicas[0]));
    assert_non_null (replicas);
    for (int i = 0; i < rounds; i++) {
        char name[32], file[64];
        snprintf (name, sizeof (name), "j%d", i);
        snprintf (file, sizeof (file), "starts.%s", name);
        int job = lives_submit (lives, name, "echo $RANK.$MASTER_PORT >> starts.$POLLUX_JOB", NULL);
        replicas[job][0] = replicas[job][1] = 2;
        lives_plan (lives, i + 1, (const int (*)[2])replicas);
        assert_int_equal (lives->loop.backend.reconcile (lives->local, &lives->loop, &err), 0);
        assert_int_equal (lives_seen (lives, EVENT_START, job), 1);
        if (i % 3 > 0)
            lives->loop.backend.act (lives->local, &lives->loop.cluster, &err);
        if (i % 3 > 1)
            usleep ((unsigned)(i * 7919 % 20011));
        lives_die (lives);
        lives_return (lives);
        AWAIT (lives, phase (lives, job) == JOB_FINISHED);
        check_starts (lives, file);
    }
    free (replicas);
}

/* Runs that the journal does not know, or not so. */
static void test_orphans (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", "setsid sleep 1000 & touch ready.$RANK; " LOOP, NULL);
    PLAN (lives, {1, 1});
    AWAIT (lives, lives_has (lives, "ready.0") && lives_has (lives, "ready.1"));
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, job) == 1);
    lives_die (lives);
    struct job *known = lives->loop.cluster.jobs[job]; /* the journal was put back in time */
    known->generation = 0;
    known->phase = JOB_PENDING;
    known->placement = (struct placement){0};
    lives_return (lives);
    assert_non_null (strstr (lives->said, "the journal does not know that it runs"));
    AWAIT (lives, local_count (lives->local) == 0);
    assert_int_equal (lives_processes (lives, false), 0);
    assert_false (lives_has (lives, "run/j/1"));
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, job) == 2); /* and now for real */
    assert_int_equal (lives_seen (lives, EVENT_EXIT, job), 0);
}

/* Logs of the last generations are kept, older ones go. */
static void test_old_logs (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (lives, "j", SAVES "touch ready.$POLLUX_GENERATION; " LOOP, NULL);
    for (int i = 1; i <= 5; i++) {
        char ready[32];
        if (i % 2)
            PLAN (lives, {1, 0});
        else
            PLAN (lives, {0, 1});
        snprintf (ready, sizeof (ready), "ready.%d", i);
        AWAIT (lives, lives_has (lives, ready));
    }
    assert_false (lives_has (lives, "run/j/1"));
    assert_true (lives_has (lives, "run/j/2/0/out.log"));
    lives_cancel (lives, job);
    AWAIT (lives, phase (lives, job) == JOB_CANCELLED);
    assert_false (lives_has (lives, "run/j/2"));
    assert_true (lives_has (lives, "run/j/3/0/out.log"));
}

/* Of jobs that ended, the youngest keep their logs; others lose them when a daemon comes. */
static void test_old_jobs (void **state)
{
    struct lives *lives = *state;
    for (int i = 0; i < 4; i++) {
        char name[8];
        int replicas[4][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = lives_submit (lives, name, "true", NULL);
        replicas[job][0] = 1;
        lives_plan (lives, 4, (const int (*)[2])replicas);
        AWAIT (lives, phase (lives, job) == JOB_FINISHED);
    }
    lives_die (lives);
    lives->keep_jobs = 2;
    lives_return (lives);
    assert_false (lives_has (lives, "run/j0") || lives_has (lives, "run/j1"));
    assert_true (lives_has (lives, "run/j2/1/0/out.log") &&
                 lives_has (lives, "run/j3/1/0/out.log"));
}

/* What this machine cannot do now is not the job's failure. */
static void test_bad_luck (void **state)
{
    struct lives *lives = *state;
    struct launch launch = lives_launch ();
    launch.max_failures = 0;
    int job = lives_submit (lives, "j", "true", &launch);
    struct rlimit limit, none;
    int lowest = dup (0);
    close (lowest);
    PLAN (lives, {1, 1});
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)lowest + 2; /* enough to look, not to start */
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100 && lives_seen (lives, EVENT_EXIT, job) == 0; i++)
        lives_step (lives);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_AGAIN);
    assert_non_null (strstr (lives_exit (lives, job)->detail, "Too many open files"));
    assert_int_equal (phase (lives, job), JOB_PENDING);
    assert_int_equal (lives_job (lives, job)->failures, 0);
    lives_step (lives); /* it is left in peace for a while */
    assert_int_equal (lives_seen (lives, EVENT_START, job), 1);
    assert_true (local_due_us (lives->local) < INT64_MAX);
    lives_die (lives);
    lives_return (lives);
    AWAIT (lives, phase (lives, job) == JOB_FINISHED);
}

/* Nor is it if pollux itself is gone for a while. */
static void test_no_program (void **state)
{
    struct lives *lives = *state;
    char command[256];
    struct launch launch = lives_launch ();
    launch.max_failures = 0;
    int job = lives_submit (lives, "j", "true", &launch);
    lives_die (lives);
    snprintf (lives->program, sizeof (lives->program), "%s/program", lives->path);
    snprintf (command, sizeof (command), "cp /bin/true %s", lives->program);
    assert_int_equal (system (command), 0);
    lives_return (lives);
    assert_int_equal (unlink (lives->program), 0);
    PLAN (lives, {1, 1});
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_AGAIN);
    assert_non_null (strstr (lives_exit (lives, job)->detail, "No such file"));
    lives_die (lives);
    lives->program[0] = '\0';
    lives_return (lives);
    AWAIT (lives, phase (lives, job) == JOB_FINISHED);
}

/* A supervisor that speaks a language of the future is not touched, nor started beside. */
static void test_newer_version (void **state)
{
    struct lives *lives = *state;
    char text[4096], path[128];
    struct pollux_error err = {.text = ""};
    lives_submit (lives, "j", SAVES LOOP, NULL);
    PLAN (lives, {1, 0});
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, 0) == 1);
    int pid = lives_supervisor (lives, "j", 1, 0);
    lives_die (lives);
    lives_read (lives, "run/j/1/0/info", text, sizeof (text));
    char *version = strstr (text, "\"version\":1");
    assert_non_null (version);
    version[10] = '9';
    snprintf (path, sizeof (path), "%s/run/j/1/0/info", lives->path);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    fputs (text, file);
    fclose (file);
    assert_int_equal (lives_try_return (lives, &err), -EPROTO);
    assert_non_null (strstr (err.text, "start the newer polluxd"));
    lives_die (lives);
    assert_int_equal (kill (pid, 0), 0);
}

/* Stopping all, for a daemon that is to leave nothing behind. */
static void test_stop_all (void **state)
{
    struct lives *lives = *state;
    int first = lives_submit (lives, "first", SAVES LOOP, NULL);
    int second = lives_submit (lives, "second", SAVES LOOP, NULL);
    PLAN (lives, {2, 0}, {0, 2});
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, second) == 1);
    local_stop_all (lives->local);
    AWAIT (lives, local_count (lives->local) == 0);
    assert_int_equal (phase (lives, first), JOB_PENDING);
    assert_int_equal (lives_seen (lives, EVENT_START, first), 1);
    assert_int_equal (lives_processes (lives, false), 0);
}

/* ---- Ports -------------------------------------------------------------------------------- */

/* A port that somebody else has taken is not the job's failure, but not for ever. */
static void test_port_taken (void **state)
{
    struct lives *lives = *state;
    int job = lives_submit (
        lives, "j", "echo \"bind: Address already in use\"; echo $MASTER_PORT >> ports; exit 1",
        NULL);
    PLAN (lives, {1, 0});
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 4);
    int again = 0;
    for (int i = 0; i < lives->count; i++)
        again += lives->events[i].type == EVENT_EXIT && lives->events[i].kind == EXITED_AGAIN;
    assert_int_equal (again, 3);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_FAILED);
    assert_int_equal (lives_job (lives, job)->failures, 1);
    assert_int_equal (lives_job (lives, job)->restarts, 0);
    char text[64];
    lives_read (lives, "ports", text, sizeof (text));
    assert_memory_not_equal (text, text + 6, 6); /* another one each time */
}

/* ---- Several programs under one mpirun ---------------------------------------------------- */

/* Some systems have no mpirun. */
static void need_mpirun (void)
{
    if (system ("command -v mpirun >/dev/null") != 0) {
        fprintf (stderr, "SKIPPED: mpirun is not there\n");
        skip ();
    }
}

static struct launch mpi_launch (void)
{
    struct launch launch = lives_launch ();
    launch.launcher = LAUNCHER_MPI;
    return launch;
}

static void test_mpi_finishes (void **state)
{
    struct lives *lives = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job = lives_submit (
        lives, "j", "echo \"$RANK $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $POLLUX_NODE\"",
        &launch);
    PLAN (lives, {1, 2});
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    if (phase (lives, job) != JOB_FINISHED)
        fail_msg ("%s\n%s", lives_exit (lives, job)->detail, lives->said);
    char text[64];
    lives_read (lives, "run/j/1/0/out.log", text, sizeof (text));
    assert_string_equal (text, "0 0 3 a\n");
    lives_read (lives, "run/j/1/2/out.log", text, sizeof (text));
    assert_string_equal (text, "2 2 3 b\n");
    assert_false (lives_has (lives, "run/j/1/0.json"));
}

/* Ranks save their work at their own pace, and mpirun does not come between. */
static void test_mpi_stops (void **state)
{
    struct lives *lives = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job = lives_submit (lives, "j",
                            "trap 'until [ -e go.$RANK ]; do sleep 0.02; done; exit 143' TERM; "
                            "touch ready.$RANK; " LOOP,
                            &launch);
    PLAN (lives, {2, 0});
    AWAIT (lives, lives_has (lives, "ready.0") && lives_has (lives, "ready.1"));
    lives_die (lives);
    lives_return (lives); /* and is adopted */
    PLAN (lives, {1, 1});
    lives_step (lives);
    lives_touch (lives, "go.1");
    AWAIT (lives, lives_has (lives, "run/j/1/1/status"));
    for (int i = 0; i < 50; i++)
        lives_step (lives);
    assert_true (lives_supervisor (lives, "j", 1, 0) > 0);
    assert_true (lives_supervisor (lives, "j", 1, 2) > 0); /* mpirun's */
    lives_touch (lives, "go.0");
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_STOPPED);
    assert_string_equal (lives_exit (lives, job)->detail, "");
    AWAIT (lives, lives_seen (lives, EVENT_STARTED, job) >= 1);
}

/* One rank fails: the others have their grace. */
static void test_mpi_fails (void **state)
{
    struct lives *lives = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    int job =
        lives_submit (lives, "j",
                      "[ $RANK = 1 ] && { until [ -e ready.0 ]; do sleep 0.02; done; exit 3; }; "
                      "trap 'until [ -e go ]; do sleep 0.02; done; touch saved; exit 143' TERM; "
                      "touch ready.0; " LOOP,
                      &launch);
    PLAN (lives, {1, 1});
    AWAIT (lives, lives_has (lives, "run/j/1/1/status"));
    for (int i = 0; i < 50; i++)
        lives_step (lives);
    lives_touch (lives, "go");
    AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == 1);
    assert_int_equal (lives_exit (lives, job)->kind, EXITED_FAILED);
    assert_string_equal (lives_exit (lives, job)->detail, "replica 1 ended with exit code 3");
    assert_true (lives_has (lives, "saved"));
}

/* mpirun, its supervisor, or a rank's supervisor killed; no mpirun at all. */
static void test_mpi_killed (void **state)
{
    struct lives *lives = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    launch.max_failures = 100;
    launch.grace_s = 0.5; /* setsid hides from the stop signal */
    int job = lives_submit (
        lives, "j", "setsid sleep 1000 & touch ready.$POLLUX_GENERATION.$RANK; " LOOP, &launch);
    for (int i = 1; i <= 3; i++) {
        char ready[2][32], text[256], file[64];
        PLAN (lives, {1, 1});
        for (int rank = 0; rank < 2; rank++)
            snprintf (ready[rank], 32, "ready.%d.%d", i, rank);
        AWAIT (lives, lives_has (lives, ready[0]) && lives_has (lives, ready[1]));
        int pid = lives_supervisor (lives, "j", i, i == 3 ? 0 : 2);
        if (i == 1) { /* mpirun itself */
            snprintf (file, sizeof (file), "run/j/%d/2/replica", i);
            lives_read (lives, file, text, sizeof (text));
            pid = atoi (strstr (text, "\"pid\":") + 6);
        }
        assert_true (pid > 1);
        kill (pid, SIGKILL);
        AWAIT (lives, lives_seen (lives, EVENT_EXIT, job) == i);
        assert_int_equal (lives_exit (lives, job)->kind, EXITED_FAILED);
        if (i < 3 && !strstr (lives_exit (lives, job)->detail, "mpirun"))
            fail_msg ("%s", lives_exit (lives, job)->detail);
        assert_int_equal (lives_processes (lives, false), 0);
        lives->now_us += 1000000000;
    }
    lives_cancel (lives, job);
}

static void test_mpi_early_stop (void **state)
{
    struct lives *lives = *state;
    struct launch launch = mpi_launch ();
    need_mpirun ();
    for (int i = 0; i < 8; i++) {
        char name[32];
        int replicas[8][2] = {0};
        snprintf (name, sizeof (name), "j%d", i);
        int job = lives_submit (lives, name, "trap 'exit 143' TERM; " LOOP, &launch);
        replicas[job][0] = replicas[job][1] = 1;
        lives_plan (lives, i + 1, replicas);
        for (int j = 0; j < 3 * i; j++)
            lives_step (lives);
        lives_cancel (lives, job);
        AWAIT (lives, phase (lives, job) == JOB_CANCELLED);
        assert_int_equal (lives_processes (lives, false), 0);
    }
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, lives_set_up, lives_tear_down)
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
        TEST (test_bad_luck),
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
