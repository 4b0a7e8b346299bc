/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, limits and oracles of simulated jobs.
 */
#include "sim/job_request.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/training.h"

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct job_request job_request_of (const struct sim_config *config, const struct workload_job *job,
                                   const struct policy *policy)
{
    struct app_pin pin = sim_typed (config) ? (struct app_pin){0, 0} : app_pin (job->app);
    const struct pollux_limits *limits = app_limits (job->app);
    int64_t batch = policy->adaptive ? pin.batch : job->batch;
    int64_t most = (policy->adaptive ? limits->max_batch : job->batch) / limits->min_local;
    most = least (most, sim_type_slots (config));
    if (policy->adaptive)
        most = least (most, config->max_replicas);
    if (pin.replicas > 0)
        most = least (most, pin.replicas);
    return (struct job_request){.max_replicas = most > 1 ? (int)most : 1, .batch = batch};
}

int packed_counts (int replicas, int slots_per_node, int *counts)
{
    int nodes = 0;
    for (; replicas > slots_per_node; replicas -= slots_per_node)
        counts[nodes++] = slots_per_node;
    counts[nodes++] = replicas;
    return nodes;
}

int job_request_oracle (const struct sim_config *config, const struct workload_job *job,
                        struct job_request request, struct oracle *ret)
{
    double *iter_s = malloc ((size_t)request.max_replicas * sizeof (iter_s[0]));
    int *counts = malloc ((size_t)request.max_replicas * sizeof (counts[0]));
    if (!iter_s || !counts) {
        free (iter_s);
        free (counts);
        return -ENOMEM;
    }
    struct node_group group = {0};
    const struct app *here = NULL;
    for (int i = 0; !here && i < sim_group_count (config); i++) {
        group = sim_group (config, i);
        here = app_on (job->app, group.type);
    }
    const struct pollux_limits *limits = app_limits (here);
    for (int k = 1; k <= request.max_replicas; k++) {
        struct pollux_batch batch = batch_split (limits, request.batch, k);
        if (k == 1 && batch.s == 0)
            batch = (struct pollux_batch){.m = (batch.m + 1) / 2, .s = 1};
        int nodes = packed_counts (k, group.slots_per_node, counts);
        iter_s[k - 1] = app_iter_time (app_step (here, counts, nodes, batch.m), batch.s);
    }
    free (counts);
    *ret = (struct oracle){.iter_s = iter_s,
                           .count = request.max_replicas,
                           .remaining = remaining_iterations (job, 0)};
    return 0;
}

double remaining_iterations (const struct workload_job *job, int e)
{
    int last = app_max_epochs (job->app) - 1;
    if (e >= last)
        return 1;
    return app_iterations (job->app, last, (double)job->batch) -
           app_iterations (job->app, e, (double)job->batch);
}
