/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at once and at random: jobs come, move, fail and are cancelled, replicas, supervisors
 * and mpiruns are killed, the daemon dies and comes back.  However that goes: no rank of a
 * generation is started twice, no slot has two owners, every job comes to its end, and nothing is
 * left behind.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <signal.h>
#include <unistd.h>

#include "lives.h"

enum { JOBS = 24, SLOTS = 2 };

struct storm {
    struct lives *lives;
    struct rng rng;
    int replicas[JOBS][2];
};

static int below (struct storm *storm, int limit)
{
    return (int)rng_below (&storm->rng, (uint64_t)limit);
}

/* A rank that is started twice says so in a file; it ends well, badly, or only when stopped. */
static void submit (struct storm *storm, bool mpi)
{
    static const char script[] =
        "mkdir once.$POLLUX_JOB.$POLLUX_GENERATION.$RANK || touch twice; "
        "trap 'exit 143' TERM; setsid sleep 100 & "
        "i=0; while [ $i -lt $TURNS ]; do sleep 0.02; i=$((i + 1)); done; exit $CODE";
    struct launch launch = lives_launch ();
    char turns[32], code[32], name[32];
    char *variables[] = {turns, code, NULL};
    int job = storm->lives->loop.cluster.job_count;
    snprintf (turns, sizeof (turns), "TURNS=%d", 1 + below (storm, 40));
    snprintf (code, sizeof (code), "CODE=%d", below (storm, 4) == 0);
    snprintf (name, sizeof (name), "j%d", job);
    launch.environment = variables;
    launch.launcher = mpi ? LAUNCHER_MPI : LAUNCHER_ENV;
    launch.grace_s = 0.3;
    launch.max_failures = 5;
    lives_submit (storm->lives, name, script, &launch);
}

/* A plan at random that fits. */
static void plan (struct storm *storm)
{
    int left[2] = {SLOTS, SLOTS}, count = storm->lives->loop.cluster.job_count;
    int first = count > 0 ? below (storm, count) : 0;
    for (int i = 0; i < count; i++) {
        int job = (first + i) % count;
        bool live = job_live (lives_job (storm->lives, job));
        for (int node = 0; node < 2; node++) {
            int most = live ? left[node] + 1 : 1;
            storm->replicas[job][node] = below (storm, most);
            left[node] -= storm->replicas[job][node];
        }
    }
    storm->lives->now_us += 600000000; /* whoever waits after a failure has waited enough */
    lives_plan (storm->lives, count, (const int (*)[2])storm->replicas);
}

/* The oldest four have one slot each, until they end. */
static void plan_calmly (struct storm *storm)
{
    const struct job_list *live = &storm->lives->loop.cluster.live;
    memset (storm->replicas, 0, sizeof (storm->replicas));
    for (int i = 0; i < live->count && i < 2 * SLOTS; i++)
        storm->replicas[live->indices[i]][live->indices[i] % 2] = 1;
    for (int node = 0, used = 0; node < 2; node++, used = 0)
        for (int job = 0; job < JOBS; job++)
            if ((used += storm->replicas[job][node]) > SLOTS)
                storm->replicas[job][node] = 0;
    storm->lives->now_us += 600000000;
    lives_plan (storm->lives, JOBS, (const int (*)[2])storm->replicas);
}

/* Of all processes of this test, one that is not the daemon's own thread. */
static void kill_somebody (struct storm *storm)
{
    const struct cluster *cluster = &storm->lives->loop.cluster;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || below (storm, 2))
            continue;
        char file[96], text[256];
        bool mpi = job->launch->launcher == LAUNCHER_MPI;
        int rank = below (storm, placement_replicas (job->placement) + mpi);
        snprintf (file, sizeof (file), "run/%.40s/%d/%d/%s", job->spec.name, job->generation, rank,
                  below (storm, 2) ? "info" : "replica");
        lives_read (storm->lives, file, text, sizeof (text));
        const char *pid = strstr (text, "\"pid\":");
        if (pid && atoi (pid + 6) > 1)
            kill (atoi (pid + 6), SIGKILL);
        return;
    }
}

static void check_slots (const struct lives *lives)
{
    int used[2] = {0};
    for (int i = 0; i < lives->loop.cluster.live.count; i++) {
        struct placement placement = lives->loop.cluster.live.jobs[i]->placement;
        for (int j = 0; j < placement.count; j++)
            used[placement.shares[j].node] += placement.shares[j].replicas;
    }
    assert_true (used[0] <= SLOTS && used[1] <= SLOTS);
}

static void turn (struct storm *storm)
{
    struct lives *lives = storm->lives;
    switch (below (storm, 10)) {
    case 0:
        if (lives->loop.cluster.job_count < JOBS)
            submit (storm, below (storm, 3) == 0);
        break;
    case 1:
        plan (storm);
        break;
    case 2:
        kill_somebody (storm);
        break;
    case 3:
        if (lives->loop.cluster.live.count > 0 && below (storm, 8) == 0) {
            int at = below (storm, lives->loop.cluster.live.count);
            lives_cancel (lives, lives->loop.cluster.live.indices[at]);
        }
        break;
    case 4: /* before, amidst or after a settle */
        if (below (storm, 2))
            loop_settle (&lives->loop, NULL);
        lives_die (lives);
        lives_return (lives);
        break;
    default:
        break;
    }
    lives_step (lives);
    check_slots (lives);
}

static void test_storm (void **state)
{
    struct storm storm = {.lives = *state};
    struct lives *lives = storm.lives;
    int turns = soak_count (4000);
    storm.rng = rng_seed (20211);
    for (int i = 0; i < turns; i++) {
        turn (&storm);
        if (lives->count > LIVES_EVENTS / 2)
            lives->count = 0;
        lives->said[0] = '\0';
    }
    int64_t end = lives_deadline ();
    while (lives->loop.cluster.live.count > 0 && !lives_late (end)) {
        plan_calmly (&storm);
        for (int i = 0; i < 10; i++)
            lives_step (lives);
    }
    int kinds[JOB_PHASES] = {0};
    for (int i = 0; i < lives->loop.cluster.job_count; i++)
        kinds[lives_job (lives, i)->phase]++;
    print_message ("# %d jobs: %d finished, %d failed, %d cancelled\n",
                   lives->loop.cluster.job_count, kinds[JOB_FINISHED], kinds[JOB_FAILED],
                   kinds[JOB_CANCELLED]);
    assert_int_equal (lives->loop.cluster.live.count, 0);
    assert_int_equal (local_count (lives->local), 0);
    assert_int_equal (lives_processes (lives, false), 0);
    assert_false (lives_has (lives, "twice"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_storm, lives_set_up, lives_tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
