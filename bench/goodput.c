/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of one goodput evaluation, of one best batch, and of the curve of a job, which the scheduler
 * computes tens of thousands of times per round.  Jobs are random, around the parameters of the
 * published models.
 */
#include "bench.h"
#include "base/rng.h"
#include "pollux/pollux.h"

#include <math.h>

enum { JOBS = 16, REPLICAS = 64 };

struct job {
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits;
    struct pollux_shape shape;
    struct pollux_batch batch;
};

/* The jobs, and the search to measure. */
struct work {
    struct job jobs[JOBS];
    enum pollux_search search;
};

static double between (struct rng *rng, double low, double high)
{
    return low * pow (high / low, rng_uniform (rng));
}

/* Small image models to large language models: steps of 10 ms to 1 s at the user's batch of 32
 * to 512, which may grow up to 64 times; a GPU holds at most 256 samples. */
static struct job random_job (struct rng *rng)
{
    struct job job = {
        .model = {.alpha_grad = between (rng, 0.005, 0.2),
                  .beta_grad = between (rng, 1e-4, 1e-2),
                  .alpha_node = between (rng, 0.02, 0.4),
                  .beta_node = between (rng, 1e-4, 1e-2),
                  .alpha_local = between (rng, 0.005, 0.1),
                  .beta_local = between (rng, 1e-5, 1e-3),
                  .gamma = 1 + 4 * rng_uniform (rng)},
        .grad = {.sqr = between (rng, 0.01, 1), .var = between (rng, 0.1, 10)},
    };
    job.limits.init_batch = (int64_t)between (rng, 32, 512);
    job.limits.max_batch = (int64_t)((double)job.limits.init_batch * between (rng, 4, 64));
    job.limits.min_local = 8;
    job.limits.max_local = (int64_t)between (rng, 32, 256);
    job.limits.accumulation = rng_below (rng, 2) == 0;
    job.shape.replicas = 1 + (int)rng_below (rng, REPLICAS);
    job.shape.nodes = 1 + (job.shape.replicas - 1) / 4;
    job.batch.m = 1 + (job.limits.init_batch - 1) / job.shape.replicas;
    return job;
}

static void evaluate (void *arg)
{
    const struct work *work = arg;
    double sum = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &work->jobs[i];
        sum +=
            pollux_goodput (&job->model, job->grad, job->limits.init_batch, job->shape, job->batch);
    }
    bench_keep (sum);
}

static void best_batch (void *arg)
{
    const struct work *work = arg;
    double sum = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &work->jobs[i];
        struct pollux_best best;
        if (pollux_best_batch (&job->model, job->grad, &job->limits, work->search, job->shape,
                               &best, NULL) < 0)
            exit (1);
        sum += best.goodput;
    }
    bench_keep (sum);
}

static void curve (void *arg)
{
    const struct work *work = arg;
    double sum = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &work->jobs[i];
        struct pollux_best one_node[REPLICAS], many_nodes[REPLICAS];
        if (pollux_curve (&job->model, job->grad, &job->limits, work->search, REPLICAS, one_node,
                          many_nodes, NULL) < 0)
            exit (1);
        sum += one_node[REPLICAS - 1].goodput + many_nodes[REPLICAS - 1].goodput;
    }
    bench_keep (sum);
}

/* A range of total batches so narrow that few numbers of micro-steps give a total inside, on many GPUs: the search
 * must not try them all. */
static void narrow (void *arg)
{
    const struct work *work = arg;
    static const struct pollux_limits limits = {.init_batch = INT64_C (7999999999),
                                                .max_batch = INT64_C (8000000000),
                                                .min_local = 1,
                                                .max_local = 1000000,
                                                .accumulation = true};
    double sum = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &work->jobs[i];
        struct pollux_shape shape = {.nodes = 8000 + 497 * i, .replicas = 32000 + 1999 * i};
        struct pollux_best best;
        if (pollux_best_batch (&job->model, job->grad, &limits, work->search, shape, &best, NULL) <
            0)
            exit (1);
        sum += best.goodput;
    }
    bench_keep (sum);
}

int main (void)
{
    static struct work work;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < JOBS; i++)
        work.jobs[i] = random_job (&rng);

    bench_print ("goodput", 1e9 / JOBS * bench_seconds (evaluate, &work), "ns");
    work.search = POLLUX_EXACT;
    bench_print ("best-batch-exact", 1e6 / JOBS * bench_seconds (best_batch, &work), "us");
    double curve_us = 1e6 / JOBS * bench_seconds (curve, &work);
    bench_print ("curve-2x64-exact", curve_us, "us");
    bench_target ("curve-2x64-exact", curve_us, 50);
    double narrow_us = 1e6 / JOBS * bench_seconds (narrow, &work);
    bench_print ("best-batch-narrow", narrow_us, "us");
    bench_target ("best-batch-narrow", narrow_us, 60);
    work.search = POLLUX_REFERENCE;
    bench_print ("best-batch-reference", 1e6 / JOBS * bench_seconds (best_batch, &work), "us");
    bench_print ("curve-2x64-reference", 1e6 / JOBS * bench_seconds (curve, &work), "us");
    return 0;
}
