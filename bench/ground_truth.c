/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time to load the simulator's ground truth, to look up a step time, and to train one job for one
 * interval.  Start it in the root of the repository, where tests/data is.
 */
#include <stdint.h>

#include "base/rng.h"
#include "bench.h"
#include "sim/workload_generate.h"
#include "sim/training.h"

#define TRACES "tests/data/osdi21/traces"

static struct pollux_error err;

static void check (int code)
{
    if (code == 0)
        return;
    fprintf (stderr, "bench/ground_truth: %s\n", err.text);
    exit (1);
}

static void load_profiles (void *arg)
{
    struct ground_truth *truth = NULL;
    (void)arg;
    check (ground_truth_from_profiles (NULL, &truth, &err));
    ground_truth_free (truth);
}

static void load_traces (void *arg)
{
    struct ground_truth *truth = NULL;
    (void)arg;
    check (ground_truth_from_traces (TRACES, &truth, &err));
    ground_truth_free (truth);
}

/* With all triangulations. */
static void load_and_prepare (void *arg)
{
    struct ground_truth *truth = NULL;
    (void)arg;
    check (ground_truth_from_traces (TRACES, &truth, &err));
    check (ground_truth_prepare (truth, NULL, &err));
    ground_truth_free (truth);
}

static void generate (void *arg)
{
    struct workload workload;
    check (workload_generate (arg, NULL, &workload, &err));
    workload_clear (&workload);
}

/* Look-ups for one application on a range of nodes, up to four replicas each. */
struct lookup {
    const struct app *app;
    struct rng rng;
    int least_nodes, most_nodes;
};

static void look_up (void *arg)
{
    struct lookup *lookup = arg;
    const struct pollux_limits *limits = app_limits (lookup->app);
    int counts[16], span = lookup->most_nodes - lookup->least_nodes + 1;
    int nodes = lookup->least_nodes + (int)rng_below (&lookup->rng, (uint64_t)span);
    int64_t range = limits->max_local - limits->min_local + 1;
    for (int i = 0; i < nodes; i++)
        counts[i] = 1 + (int)rng_below (&lookup->rng, 4);
    int64_t m = limits->min_local + (int64_t)rng_below (&lookup->rng, (uint64_t)range);
    bench_keep (app_step (lookup->app, counts, nodes, m).step_s);
}

/* Advance a job by a minute; start again when it is done. */
static void train (void *arg)
{
    struct training *job = arg;
    check (training_advance (job, 60, 0, NULL, &err));
    if (!training_done (job))
        return;
    const struct app *app = job->app;
    training_clear (job);
    training_init (job, app, 2048, false, 0);
    check (training_place (job, app, (int[]){4, 2}, 2, 30, NULL, &err));
}

int main (void)
{
    struct ground_truth *truth = NULL;
    check (ground_truth_from_profiles (NULL, &truth, &err));
    bench_print ("load-profiles", 1e3 * bench_seconds (load_profiles, NULL), "ms");
    bench_print ("generate-160-jobs", 1e3 * bench_seconds (generate, truth), "ms");
    ground_truth_free (truth);
    check (ground_truth_from_traces (TRACES, &truth, &err));
    bench_print ("load-traces", 1e3 * bench_seconds (load_traces, NULL), "ms");
    bench_print ("load-and-triangulate", 1e3 * bench_seconds (load_and_prepare, NULL), "ms");
    struct lookup small = {ground_truth_app (truth, "cifar10"), rng_seed (1), 1, 4};
    struct lookup large = {ground_truth_app (truth, "cifar10"), rng_seed (1), 6, 16};
    bench_print ("step-measured", 1e9 * bench_seconds (look_up, &small), "ns");
    double large_s = bench_seconds (look_up, &large);
    bench_print ("step-interpolated", 1e9 * large_s, "ns");
    bench_target ("step-interpolated", 1e9 * large_s, 1000);

    struct training job;
    training_init (&job, ground_truth_app (truth, "cifar10"), 2048, false, 0);
    check (training_place (&job, job.app, (int[]){4, 2}, 2, 30, NULL, &err));
    double train_s = bench_seconds (train, &job);
    bench_print ("train-one-minute", 1e9 * train_s, "ns");
    bench_target ("train-one-minute", 1e9 * train_s, 500);
    training_clear (&job);
    ground_truth_free (truth);
    return 0;
}
