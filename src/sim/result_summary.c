/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the results of single jobs to the numbers by which policies are compared.
 *
 * rho = JCT / JCT of the same job alone with k slots, where k is the cluster's slots divided by
 * the mean number of unfinished jobs between its submission and completion.  Above 1: an equal
 * share of the cluster would have been faster.  In a cluster with types, alone means on nodes of one type: the mean over
 * the types.
 */
#include "sim/result_summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/statistics.h"
#include "sim/isolated_run.h"
#include "sim/mean_concurrency.h"

/* Seconds alone on nodes of a group with a share of the cluster: linear between whole replicas, and inversely
 * proportional below one.  A policy that gives what is asked for keeps the job's number of replicas; if that is more
 * than the share, the job gets it a part of the time. */
static int alone_on (struct isolated_run_cache *cache, const struct sim_config *config,
                     const struct workload_job *job, const struct policy *policy, int group,
                     double share, double *ret, struct pollux_error *err)
{
    double low_s = 0, high_s = 0, low = fmax (1, floor (share)), high = fmax (1, ceil (share));
    if (!policy->elastic)
        low = high = job->replicas;
    int rc = isolated_run_seconds (cache, config, job, policy, group, (int)low, &low_s, err);
    if (rc == 0)
        rc = isolated_run_seconds (cache, config, job, policy, group, (int)high, &high_s, err);
    if (rc < 0)
        return rc;
    *ret = high > low ? low_s + (share - low) * (high_s - low_s) : low_s * fmax (1, low / share);
    return 0;
}

/* In a cluster with types: the mean over the types that the job can run on, weighted by their slots. */
static int alone_typed (struct isolated_run_cache *cache, const struct sim_config *config,
                        const struct workload_job *job, const struct policy *policy, double share,
                        double *ret, struct pollux_error *err)
{
    double sum = 0, slots = 0;
    for (int i = 0; i < config->group_count; i++) {
        const struct node_group *group = &config->groups[i];
        double seconds, size = (double)group->nodes * group->slots_per_node;
        if (!app_on (job->app, group->type) || (!policy->elastic && job->replicas > size))
            continue;
        int rc = alone_on (cache, config, job, policy, i, share, &seconds, err);
        if (rc < 0)
            return rc;
        sum += size * seconds;
        slots += size;
    }
    *ret = sum / slots;
    return 0;
}

static int judge_fairness (const struct sim_config *config, const struct workload *workload,
                           const struct policy *policy, const double *concurrency,
                           struct sim_result *result, struct pollux_error *err)
{
    struct isolated_run_cache cache = {0};
    int rc = 0, unfair = 0;
    /* With a goal: their mean number. */
    double slots =
        result->capacity_s > 0 ? result->capacity_s / result->makespan_s : sim_slots (config);
    for (int i = 0; i < workload->count && rc == 0; i++) {
        const struct workload_job *job = &workload->jobs[i];
        struct sim_job *done = &result->jobs[i];
        double share = slots / concurrency[i], isolated_run_s;
        rc = sim_typed (config)
                 ? alone_typed (&cache, config, job, policy, share, &isolated_run_s, err)
                 : isolated_run_seconds (&cache, config, job, policy, 0,
                                         (int)fmax (1, round (share)), &isolated_run_s, err);
        if (rc < 0)
            break;
        /* Alone it also waits for the next round. */
        double first = fmax (1, ceil (job->submit_s / config->interval_s)) * config->interval_s;
        done->rho = done->jct_s / (first - job->submit_s + isolated_run_s);
        result->worst_rho = fmax (result->worst_rho, done->rho);
        unfair += done->rho > 1;
    }
    result->unfair = (double)unfair / workload->count;
    isolated_run_cache_clear (&cache);
    return rc;
}

static void sum_up (const struct sim_config *config, const struct workload *workload,
                    double *scratch, struct sim_result *result)
{
    int count = workload->count;
    double jct_s = 0, slot_s = 0, restarts = 0, first_s = INFINITY, last_s = 0;
    for (int i = 0; i < count; i++) {
        const struct sim_job *job = &result->jobs[i];
        double submit_s = workload->jobs[i].submit_s;
        jct_s += job->jct_s;
        slot_s += job->slot_s;
        restarts += job->restarts;
        first_s = fmin (first_s, submit_s);
        last_s = fmax (last_s, submit_s + job->jct_s);
        scratch[i] = job->jct_s;
    }
    result->mean_jct_s = jct_s / count;
    result->median_jct_s = quantile (scratch, count, 0.5);
    result->p99_jct_s = quantile (scratch, count, 0.99);
    result->makespan_s = last_s - first_s;
    result->slot_hours_per_job = slot_s / count / 3600;
    result->restarts_per_job = restarts / count;
    result->utilisation =
        slot_s / (result->capacity_s > 0 ? result->capacity_s
                                         : (double)sim_slots (config) * result->makespan_s);
}

int result_summarise (const struct sim_config *config, const struct workload *workload,
                      const struct policy *policy, double *decide_s, struct sim_result *result,
                      struct pollux_error *err)
{
    size_t count = (size_t)workload->count;
    struct stay *stays = malloc (count * sizeof (stays[0]));
    double *concurrency = malloc (count * sizeof (concurrency[0]));
    double *scratch = malloc (count * sizeof (scratch[0]));
    int rc = -ENOMEM;
    if (!stays || !concurrency || !scratch)
        goto done;
    for (int i = 0; i < workload->count; i++)
        stays[i] = (struct stay){workload->jobs[i].submit_s,
                                 workload->jobs[i].submit_s + result->jobs[i].jct_s};
    rc = mean_concurrency (stays, workload->count, concurrency);
    if (rc < 0)
        goto done;
    sum_up (config, workload, scratch, result);
    rc = judge_fairness (config, workload, policy, concurrency, result, err);
    if (rc < 0)
        goto done;

    double sum = 0;
    for (int i = 0; i < result->rounds; i++)
        sum += decide_s[i];
    result->decide_mean_s = sum / result->rounds;
    result->decide_median_s = quantile (decide_s, result->rounds, 0.5);
    result->decide_p99_s = quantile (decide_s, result->rounds, 0.99);
    result->decide_max_s = quantile (decide_s, result->rounds, 1);
done:
    free (stays);
    free (concurrency);
    free (scratch);
    return rc == -ENOMEM ? fail (err, rc, "no memory to sum up %d jobs", workload->count) : rc;
}

void sim_result_clear (struct sim_result *result)
{
    free (result->jobs);
    *result = (struct sim_result){0};
}
