/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of simulations: whole workloads under the published policies and pollux, job-rounds per
 * second with a trivial policy, and the memory of a large cluster.  Policies run the published
 * workload-6.  Start it in the root of the repository, where tests/data is.
 *
 * The authors' simulator takes 24 s for tiresias, 87 s for optimus and 53 minutes for its
 * genetic search on workload-6, on one core of a server.
 */
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "sim/workload_generate.h"
#include "sim/sim.h"

static struct pollux_error err;

static void die (void)
{
    fprintf (stderr, "bench/sim: %s\n", err.text);
    exit (1);
}

static double run_s (const struct workload *workload, const char *name,
                     const struct sim_config *config, struct sim_result *result)
{
    const struct policy *policy;
    if (policy_find (name, &policy, &err) < 0)
        die ();
    double from_s = bench_now_s ();
    if (sim_run (config, workload, policy, NULL, result, &err) < 0)
        die ();
    return bench_now_s () - from_s;
}

/* Seconds of one simulation under a policy: the least of several if it is short. */
static void measure_policy (const struct workload *workload, const char *name, double limit_s)
{
    struct sim_config config = sim_defaults ();
    double best_s = 1e9;
    for (int i = 0; i < (limit_s < 1 ? 10 : 1); i++) {
        struct sim_result result;
        double seconds = run_s (workload, name, &config, &result);
        sim_result_clear (&result);
        best_s = seconds < best_s ? seconds : best_s;
    }
    char label[64];
    snprintf (label, sizeof (label), "sim-%s", name);
    bench_print (label, best_s, "s");
    bench_target (label, best_s, limit_s);
}

/* 10,000 jobs on 2,048 slots under a trivial policy, in a separate process to measure its memory. */
static void measure_large (void)
{
    int ends[2];
    if (pipe (ends) < 0)
        exit (1);
    pid_t child = fork ();
    if (child == 0) {
        struct ground_truth *truth;
        struct workload workload;
        struct recipe recipe = recipe_default ();
        recipe.jobs = 10000;
        recipe.hours = 24;
        if (ground_truth_from_profiles (NULL, &truth, &err) < 0 ||
            workload_generate (truth, &recipe, &workload, &err) < 0)
            die ();
        struct sim_config config = sim_defaults ();
        config.nodes = 512;
        struct sim_result result;
        double seconds = run_s (&workload, "fifo", &config, &result);
        /* Rounds between the submission and the completion of each job. */
        double job_rounds = 0;
        for (int i = 0; i < result.job_count; i++)
            job_rounds += result.jobs[i].jct_s / config.interval_s;
        struct rusage usage;
        getrusage (RUSAGE_SELF, &usage);
        double figures[] = {job_rounds / seconds, (double)usage.ru_maxrss / 1024};
        _exit (write (ends[1], figures, sizeof (figures)) == sizeof (figures) ? 0 : 1);
    }
    double figures[2] = {0, 1e9};
    int status = 1;
    bool received = read (ends[0], figures, sizeof (figures)) == sizeof (figures);
    if (waitpid (child, &status, 0) < 0 || status != 0 || !received)
        exit (1);
    bench_print ("sim-job-rounds", figures[0] / 1e6, "M/s");
    bench_target ("sim-job-rounds-slowness", 1e6 / figures[0], 1);
    bench_print ("sim-10k-jobs-memory", figures[1], "MB");
    bench_target ("sim-10k-jobs-memory", figures[1], 100);
}

int main (void)
{
    measure_large ();
    struct ground_truth *truth;
    struct workload workload;
    if (ground_truth_from_traces ("tests/data/osdi21/traces", &truth, &err) < 0 ||
        workload_read ("tests/data/osdi21/workloads/workload-6.csv", truth, &workload, &err) < 0)
        die ();
    measure_policy (&workload, "tiresias", 0.1);
    measure_policy (&workload, "optimus", 0.1);
    measure_policy (&workload, "pollux", 2);
    measure_policy (&workload, "pollux-ga", 60);
    workload_clear (&workload);
    ground_truth_free (truth);
    return 0;
}
