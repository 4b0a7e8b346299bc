/* SPDX-License-Identifier: Apache-2.0 */
/* How long a job would take with a cluster of its own: the yardstick of fairness. */
#ifndef SIM_ISOLATED_RUN_H
#define SIM_ISOLATED_RUN_H

#include "policy/policy.h"
#include "sim/sim.h"

/* Results so far, since many jobs of a workload ask the same question. */
struct isolated_run_cache {
    struct isolated_run_entry {
        const struct app *app;
        int replicas;
        int64_t batch;
        double seconds;
    } * entries;
    int count, capacity;
};
void isolated_run_cache_clear (struct isolated_run_cache *cache);

/* Seconds from the round in which it starts until it is done, with `replicas` slots (limited to
 * what it can use) on the fewest nodes and one start delay. */
int isolated_run_seconds (struct isolated_run_cache *cache, const struct sim_config *config,
                          const struct workload_job *job, const struct policy *policy, int replicas,
                          double *ret, struct pollux_error *err);

#endif
