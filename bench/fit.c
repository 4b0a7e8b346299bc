/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of a fit with 1, 10 and 30 samples.  The step times are from a known model with 5 % noise, as
 * measured in training.  Cold: the first fit of a job.  Warm: starts from the fit of all samples but
 * the newest, as in a running job.
 */
#include "bench.h"
#include "base/rng.h"
#include "pollux/pollux.h"

#include <math.h>

enum { JOBS = 16, SAMPLES = 30 };

struct job {
    struct pollux_sample samples[SAMPLES];
    struct pollux_model last;
};

struct work {
    struct job jobs[JOBS];
    int job; /* the one that is measured */
    size_t count;
    bool warm;
};

static double between (struct rng *rng, double low, double high)
{
    return low * pow (high / low, rng_uniform (rng));
}

/* Samples in the order of a growing job: one GPU first, then twice as many. */
static void measure (struct rng *rng, struct job *job)
{
    const struct pollux_model truth = {
        .alpha_grad = between (rng, 0.005, 0.2),
        .beta_grad = between (rng, 1e-4, 1e-2),
        .alpha_node = between (rng, 0.05, 0.4),
        .beta_node = between (rng, 1e-4, 1e-2),
        .alpha_local = between (rng, 0.005, 0.1),
        .beta_local = between (rng, 1e-5, 1e-3),
        .gamma = 1 + 4 * rng_uniform (rng),
    };
    for (int i = 0; i < SAMPLES; i++) {
        int replicas = 1 << (i / 5);
        int nodes = replicas <= 4 && i % 2 == 0 ? 1 : (replicas + 3) / 4;
        struct pollux_sample *sample = &job->samples[i];
        *sample = (struct pollux_sample){
            .shape = {.nodes = replicas == 2 && i % 2 ? 2 : nodes, .replicas = replicas},
            .m = 8 + (int64_t)rng_below (rng, 120),
            .weight = 1,
        };
        struct pollux_batch batch = {.m = sample->m, .s = 0};
        sample->grad_s = pollux_grad_time (&truth, sample->m) * exp (0.05 * rng_gaussian (rng));
        sample->step_s =
            pollux_iter_time (&truth, sample->shape, batch) * exp (0.05 * rng_gaussian (rng));
    }
}

static void fit_one (void *arg)
{
    const struct work *work = arg;
    const struct job *job = &work->jobs[work->job];
    struct pollux_fit fit;
    if (pollux_fit (job->samples, work->count, work->warm ? &job->last : NULL, &fit, NULL) < 0)
        exit (1);
    bench_keep (fit.loss);
}

/* Mean over the jobs, each measured separately: one fit is short, all together are not. */
static double fit_seconds (struct work *work)
{
    double sum_s = 0;
    for (work->job = 0; work->job < JOBS; work->job++)
        sum_s += bench_seconds (fit_one, work);
    return sum_s / JOBS;
}

/* For each job, fit all samples but the newest. */
static void fit_before (struct work *work)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &work->jobs[i];
        struct pollux_fit fit;
        if (pollux_fit (job->samples, work->count - 1, NULL, &fit, NULL) < 0)
            exit (1);
        job->last = fit.model;
    }
}

int main (void)
{
    static struct work work;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < JOBS; i++)
        measure (&rng, &work.jobs[i]);

    static const struct {
        const char *name;
        size_t count;
        bool warm;
        double limit_ms;
    } rows[] = {
        {"fit-1", 1, false, 0},       {"fit-10", 10, false, 0},     {"fit-30", 30, false, 1},
        {"fit-10-warm", 10, true, 0}, {"fit-30-warm", 30, true, 0},
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        work.count = rows[i].count;
        work.warm = rows[i].warm;
        if (work.warm)
            fit_before (&work);
        double fit_ms = 1e3 * fit_seconds (&work);
        bench_print (rows[i].name, fit_ms, "ms");
        if (rows[i].limit_ms > 0)
            bench_target (rows[i].name, fit_ms, rows[i].limit_ms);
    }
    return 0;
}
