/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of the history beside the decision of a round, in the same run: 1,000 nodes of 8 slots with
 * 5,000 jobs, and a small cluster.  In each round all running jobs report slightly changed hints,
 * the policy pollux decides, and its plan is carried out. The history takes all these events.  Also
 * the time to encode the rows of a compaction, and the memory of a job.
 */
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "bench.h"
#include "loop/history.h"
#include "policy/policy.h"
#include "wire/history.h"

static const struct kind {
    struct pollux_model model;
    struct pollux_limits limits;
    double noise_scale;
} kinds[] = {
    {{0.084, 0.0044, 0.48, 0.0034, 0.14, 0.00013, 3.5}, {200, 12800, 20, 200, true}, 3000},
    {{0.18, 0.058, 1.2, 0.001, 0.052, 0.0059, 1.2}, {12, 384, 4, 12, true}, 200},
    {{0.23, 0.012, 0.19, 0.012, 0.18, 0.008, 2.8}, {8, 512, 4, 8, true}, 80},
    {{0.022, 0.00064, 0.08, 0.0028, 0.009, 0.0005, 2.2}, {128, 4096, 32, 1024, true}, 800},
};
enum { KINDS = sizeof (kinds) / sizeof (kinds[0]) };

/* Rounds that are measured, the last ones: jobs are hours old then. */
enum { MEASURED = 22 };

static const int64_t INTERVAL_US = 60000000;

static struct pollux_error err;

static void need (bool fine)
{
    if (fine)
        return;
    fprintf (stderr, "bench/history: %s\n", err.text);
    exit (1);
}

struct world {
    struct cluster cluster;
    struct history history;
    struct rng rng;
    int64_t now_us;
    double history_s; /* spent in the history */
    int moved;        /* jobs that the last plan has started */
    struct report *reports;
};

static void take (struct world *world, struct event event)
{
    event.at_us = world->now_us;
    double start_s = bench_cpu_s ();
    history_take (&world->history, &world->cluster, &event);
    world->history_s += bench_cpu_s () - start_s;
    need (cluster_apply (&world->cluster, &event, &err) == 0);
}

static void submit (struct world *world)
{
    struct job_spec spec = {.max_replicas = 64,
                            .weight = 1,
                            .preemptible = true,
                            .adaptive = true,
                            .restart_delay_s = 30};
    int index = world->cluster.job_count;
    snprintf (spec.name, sizeof (spec.name), "job-%d", index);
    take (world, (struct event){.type = EVENT_SUBMIT,
                                .job = index,
                                .submit = {.spec = &spec,
                                           .hints = {.max_profiled_replicas = -1,
                                                     .progress = 0,
                                                     .total = 1e6,
                                                     .step_s = NAN,
                                                     .rate_factor = NAN}}});
}

/* Reports of all running jobs, which differ a little from those before. */
static void report (struct world *world)
{
    int count = 0;
    for (int i = 0; i < world->cluster.live.count; i++) {
        const struct job *job = world->cluster.live.jobs[i];
        int index = world->cluster.live.indices[i];
        const struct kind *kind = &kinds[index % KINDS];
        if (!job_runs (job))
            continue;
        struct hints hints = {.has_model = true,
                              .model = kind->model,
                              .limits = kind->limits,
                              .max_profiled_replicas = 32,
                              .progress = job->hints.progress + 50,
                              .total = 1e6,
                              .step_s = 0.1 + 0.1 * rng_uniform (&world->rng),
                              .rate_factor = 2};
        hints.model.alpha_grad *= 1 + 0.01 * rng_uniform (&world->rng);
        hints.grad =
            (struct pollux_grad){.sqr = 1,
                                 .var = kind->noise_scale / (double)kind->limits.init_batch *
                                        (1 + 0.1 * rng_uniform (&world->rng))};
        struct pollux_best best = {.batch = job->batch};
        if (job->start_us >= world->now_us - INTERVAL_US) /* an agent keeps its batch otherwise */
            pollux_best_batch (&hints.model, hints.grad, &hints.limits, POLLUX_EXACT,
                               placement_shape (job->placement), &best, NULL);
        world->reports[count++] = (struct report){
            .job = index, .hints = hints, .batch = best.batch, .oracle_remaining = NAN};
    }
    take (world, (struct event){.type = EVENT_HINTS, .job = -1, .hints = {world->reports, count}});
}

/* Carry out the plan: jobs end their generations and start others. */
static void carry_out (struct world *world)
{
    world->moved = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < world->cluster.live.count; i++) {
            struct job *job = world->cluster.live.jobs[i];
            int index = world->cluster.live.indices[i];
            if (placement_equal (job->placement, job->desired))
                continue;
            if (pass == 0 && job_runs (job))
                take (world, (struct event){
                                 .type = EVENT_EXIT,
                                 .job = index,
                                 .exit = {.generation = job->generation, .kind = EXITED_STOPPED}});
            if (pass == 1) {
                take (world, (struct event){.type = EVENT_START,
                                            .job = index,
                                            .start = {.generation = job->generation + 1,
                                                      .placement = job->desired}});
                world->moved++;
            }
        }
}

static void measure (const char *what, int nodes, int jobs, int rounds, bool target)
{
    struct world world = {.rng = rng_seed (1), .now_us = 1700000000000000};
    const struct policy *policy = NULL;
    struct memory memory;
    struct plan plan = {0};
    struct round round = {.policy = "pollux", .interval_s = 60, .restart_delay_s = 30, .p = -1};
    double decide_s = 0, history_s = 0, moved = 0;
    char name[64];
    history_begin (&world.history, &world.cluster);
    world.reports = calloc ((size_t)jobs, sizeof (world.reports[0]));
    need (world.reports && policy_find ("pollux", &policy, &err) == 0 &&
          memory_new (policy, &memory, &err) == 0);
    for (int i = 0; i < nodes; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = 8, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "n%d", i);
        take (&world, event);
    }
    for (int i = 0; i < jobs; i++)
        submit (&world);
    for (int i = 0; i < rounds; i++) {
        world.now_us += INTERVAL_US;
        world.history_s = 0;
        report (&world);
        take (&world, (struct event){.type = EVENT_ROUND, .job = -1, .round = round});
        struct view view = cluster_view (&world.cluster, &round);
        double start_s = bench_cpu_s ();
        bool measured = i < 3 || i >= rounds - 2 * MEASURED; /* the plan stays the same between */
        if (measured)
            need (decide_full (policy, &view, &memory, &plan, &err) == 0);
        double decided_s = bench_cpu_s () - start_s;
        take (&world, (struct event){.type = EVENT_PLAN, .job = -1, .plan = &plan});
        carry_out (&world);
        if (i < rounds - MEASURED)
            continue;
        decide_s += decided_s;
        history_s += world.history_s;
        moved += world.moved;
    }
    snprintf (name, sizeof (name), "round_%s", what);
    bench_print (name, 1e3 * decide_s / MEASURED, "ms");
    snprintf (name, sizeof (name), "history_%s", what);
    bench_print (name, 1e3 * history_s / MEASURED, "ms");
    snprintf (name, sizeof (name), "started_%s", what);
    bench_print (name, moved / MEASURED, "jobs/round");
    snprintf (name, sizeof (name), "history_share_%s", what);
    if (target)
        bench_target (name, history_s / decide_s, 0.01);
    else
        bench_print (name, history_s / decide_s, "of_a_decision");

    struct wire_text_buffer text = {0};
    double bytes = 0, start_s = bench_cpu_s ();
    for (int i = 0; i < jobs; i++) {
        need (wire_job_past_encode (&world.cluster, history_job (&world.history, i), &text, &err) ==
              0);
        bytes += (double)text.length;
    }
    snprintf (name, sizeof (name), "encode_%s", what);
    bench_print (name, 1e3 * (bench_cpu_s () - start_s), "ms");
    snprintf (name, sizeof (name), "row_%s", what);
    bench_print (name, bytes / jobs, "bytes");
    double before = (double)mallinfo2 ().uordblks;
    history_clear (&world.history);
    snprintf (name, sizeof (name), "memory_%s", what);
    bench_print (name, (before - (double)mallinfo2 ().uordblks) / jobs, "bytes");
    wire_text_buffer_clear (&text);
    plan_clear (&plan);
    memory_clear (&memory);
    free (world.reports);
    cluster_clear (&world.cluster);
}

int main (void)
{
    measure ("5000_jobs_of_3_h", 1000, 5000, 180, true);
    measure ("40_jobs_of_3_h", 16, 40, 180, true);
    measure ("5000_jobs_of_25_min", 1000, 5000, 3 + MEASURED, true);
    return 0;
}
