/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on the local backend: jobs are submitted, moved and cancelled and fail; replicas,
 * supervisors and mpiruns are killed; the daemon dies and restarts.  Always: no rank of a generation
 * is started twice, no slot is used twice, every job ends, and no process is left.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <signal.h>
#include <unistd.h>

#include "backend_fixture.h"

enum { JOBS = 24, SLOTS = 2 };

struct storm {
    struct fixture *fixture;
    struct rng rng;
    int replicas[JOBS][2];
};

static int below (struct storm *storm, int limit)
{
    return (int)rng_below (&storm->rng, (uint64_t)limit);
}

/* A rank that is started twice leaves a file; it succeeds, fails, or ends when it is stopped. */
static void submit (struct storm *storm, bool mpi)
{
    static const char script[] =
        "mkdir once.$POLLUX_JOB.$POLLUX_GENERATION.$RANK || touch twice; "
        "trap 'exit 143' TERM; setsid sleep 100 & "
        "i=0; while [ $i -lt $TURNS ]; do sleep 0.02; i=$((i + 1)); done; exit $CODE";
    struct launch launch = fixture_launch ();
    char turns[32], code[32], name[32];
    char *variables[] = {turns, code, NULL};
    int job = storm->fixture->loop.cluster.job_count;
    snprintf (turns, sizeof (turns), "TURNS=%d", 1 + below (storm, 40));
    snprintf (code, sizeof (code), "CODE=%d", below (storm, 4) == 0);
    snprintf (name, sizeof (name), "j%d", job);
    launch.environment = variables;
    launch.launcher = mpi ? LAUNCHER_MPI : LAUNCHER_ENV;
    launch.grace_s = 0.3;
    launch.max_failures = 5;
    fixture_submit (storm->fixture, name, script, &launch);
}

/* A random plan that fits the slots. */
static void plan (struct storm *storm)
{
    int left[2] = {SLOTS, SLOTS}, count = storm->fixture->loop.cluster.job_count;
    int first = count > 0 ? below (storm, count) : 0;
    for (int i = 0; i < count; i++) {
        int job = (first + i) % count;
        bool live = job_live (fixture_job (storm->fixture, job));
        for (int node = 0; node < 2; node++) {
            int most = live ? left[node] + 1 : 1;
            storm->replicas[job][node] = below (storm, most);
            left[node] -= storm->replicas[job][node];
        }
    }
    storm->fixture->now_us += 600000000; /* past every retry_us */
    fixture_plan (storm->fixture, count, (const int (*)[2])storm->replicas);
}

/* The oldest four jobs have one slot each until they end. */
static void plan_steadily (struct storm *storm)
{
    const struct job_list *live = &storm->fixture->loop.cluster.live;
    memset (storm->replicas, 0, sizeof (storm->replicas));
    for (int i = 0; i < live->count && i < 2 * SLOTS; i++)
        storm->replicas[live->indices[i]][live->indices[i] % 2] = 1;
    for (int node = 0, used = 0; node < 2; node++, used = 0)
        for (int job = 0; job < JOBS; job++)
            if ((used += storm->replicas[job][node]) > SLOTS)
                storm->replicas[job][node] = 0;
    storm->fixture->now_us += 600000000;
    fixture_plan (storm->fixture, JOBS, (const int (*)[2])storm->replicas);
}

/* Kill a random supervisor or replica. */
static void kill_one (struct storm *storm)
{
    const struct cluster *cluster = &storm->fixture->loop.cluster;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || below (storm, 2))
            continue;
        char file[96], text[256];
        bool mpi = job->launch->launcher == LAUNCHER_MPI;
        int rank = below (storm, placement_replicas (job->placement) + mpi);
        snprintf (file, sizeof (file), "run/%.40s/%d/%d/%s", job->spec.name, job->generation, rank,
                  below (storm, 2) ? "info" : "replica");
        fixture_read (storm->fixture, file, text, sizeof (text));
        const char *pid = strstr (text, "\"pid\":");
        if (pid && atoi (pid + 6) > 1)
            kill (atoi (pid + 6), SIGKILL);
        return;
    }
}

static void check_slots (const struct fixture *fixture)
{
    int used[2] = {0};
    for (int i = 0; i < fixture->loop.cluster.live.count; i++) {
        struct placement placement = fixture->loop.cluster.live.jobs[i]->placement;
        for (int j = 0; j < placement.count; j++)
            used[placement.shares[j].node] += placement.shares[j].replicas;
    }
    assert_true (used[0] <= SLOTS && used[1] <= SLOTS);
}

static void turn (struct storm *storm)
{
    struct fixture *fixture = storm->fixture;
    switch (below (storm, 10)) {
    case 0:
        if (fixture->loop.cluster.job_count < JOBS)
            submit (storm, below (storm, 3) == 0);
        break;
    case 1:
        plan (storm);
        break;
    case 2:
        kill_one (storm);
        break;
    case 3:
        if (fixture->loop.cluster.live.count > 0 && below (storm, 8) == 0) {
            int at = below (storm, fixture->loop.cluster.live.count);
            fixture_cancel (fixture, fixture->loop.cluster.live.indices[at]);
        }
        break;
    case 4: /* before, during or after a settle */
        if (below (storm, 2))
            loop_settle (&fixture->loop, NULL);
        fixture_end_daemon (fixture);
        fixture_restart_daemon (fixture);
        break;
    default:
        break;
    }
    fixture_step (fixture);
    check_slots (fixture);
}

static void test_storm (void **state)
{
    struct storm storm = {.fixture = *state};
    struct fixture *fixture = storm.fixture;
    int turns = soak_count (4000);
    storm.rng = rng_seed (20211);
    for (int i = 0; i < turns; i++) {
        turn (&storm);
        if (fixture->count > FIXTURE_EVENTS / 2)
            fixture->count = 0;
        fixture->log[0] = '\0';
    }
    int64_t end = fixture_deadline ();
    while (fixture->loop.cluster.live.count > 0 && !fixture_expired (end)) {
        plan_steadily (&storm);
        for (int i = 0; i < 10; i++)
            fixture_step (fixture);
    }
    int kinds[JOB_PHASES] = {0};
    for (int i = 0; i < fixture->loop.cluster.job_count; i++)
        kinds[fixture_job (fixture, i)->phase]++;
    print_message ("# %d jobs: %d finished, %d failed, %d cancelled\n",
                   fixture->loop.cluster.job_count, kinds[JOB_FINISHED], kinds[JOB_FAILED],
                   kinds[JOB_CANCELLED]);
    assert_int_equal (fixture->loop.cluster.live.count, 0);
    assert_int_equal (fixture->ops->count (fixture->backend), 0);
    assert_int_equal (fixture_processes (fixture, false), 0);
    assert_false (fixture_has (fixture, "twice"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_storm, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
