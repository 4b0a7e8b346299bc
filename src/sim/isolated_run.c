/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job alone on the cluster: placed once, then trained in the simulation's intervals, because a
 * job chooses its batch again after each of them.
 */
#include "sim/isolated_run.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "sim/job_request.h"

void isolated_run_cache_clear (struct isolated_run_cache *cache)
{
    free (cache->entries);
    *cache = (struct isolated_run_cache){0};
}

/* What a job's isolated run depends on. */
struct alone {
    const struct sim_config *config;
    const struct policy *policy;
    const struct app *app, *here;
    int slots_per_node;
    struct job_factors factors;
};

static int train_alone (const struct alone *alone, int64_t batch, int replicas, double *ret,
                        struct pollux_error *err)
{
    const struct sim_config *config = alone->config;
    struct job_agent agent = job_agent_start (config->agent, alone->policy->search, alone->app);
    struct batch_chooser chooser = job_agent_chooser (&agent);
    struct training training;
    training_init (&training, alone->app, batch, sim_typed (config), 0);
    training.factors = alone->factors;
    int *counts = malloc ((size_t)replicas * sizeof (counts[0]));
    if (!counts)
        return fail (err, -ENOMEM, "no memory for %d replicas", replicas);
    int nodes = packed_counts (replicas, alone->slots_per_node, counts);
    int rc = training_place (&training, alone->here, counts, nodes, sim_delay (config, alone->app),
                             &chooser, err);
    while (rc == 0 && !training_done (&training))
        rc = training_advance (&training, config->interval_s, 0, &chooser, err);
    if (rc == 0)
        *ret = training.completed_s;
    training_clear (&training);
    free (counts);
    return rc;
}

static int least (int a, int b)
{
    return a < b ? a : b;
}

int isolated_run_seconds (struct isolated_run_cache *cache, const struct sim_config *config,
                          const struct workload_job *job, const struct policy *policy, int group,
                          int replicas, double *ret, struct pollux_error *err)
{
    struct job_request request = job_request_of (config, job, policy);
    struct node_group nodes = sim_group (config, group);
    const struct alone alone = {config,
                                policy,
                                job->app,
                                app_on (job->app, nodes.type),
                                nodes.slots_per_node,
                                sim_job_factors (config, job)};
    int most = least (request.max_replicas, nodes.nodes * nodes.slots_per_node);
    struct isolated_run_entry entry = {.here = alone.here,
                                       .replicas = least (replicas, most),
                                       .batch = request.batch,
                                       .factors = alone.factors};
    for (int i = 0; i < cache->count; i++) {
        const struct isolated_run_entry *known = &cache->entries[i];
        if (known->here == entry.here && known->replicas == entry.replicas &&
            known->batch == entry.batch && known->factors.time == entry.factors.time &&
            known->factors.sync == entry.factors.sync &&
            known->factors.noise == entry.factors.noise) {
            *ret = known->seconds;
            return 0;
        }
    }
    int rc = train_alone (&alone, entry.batch, entry.replicas, &entry.seconds, err);
    if (rc < 0)
        return rc;
    if (array_append (&cache->entries, &cache->count, &cache->capacity, &entry, sizeof (entry)) < 0)
        return fail (err, -ENOMEM, "no memory for %d results", cache->count + 1);
    *ret = entry.seconds;
    return 0;
}
