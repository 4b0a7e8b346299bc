/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a job takes alone with its share of slots: the denominator of rho. */
#ifndef SIM_ISOLATED_RUN_H
#define SIM_ISOLATED_RUN_H

#include "policy/policy.h"
#include "sim/sim.h"

/* Results by application, replicas and batch; many jobs of a workload share them. */
struct isolated_run_cache {
    struct isolated_run_entry {
        const struct app *here; /* on its type of nodes */
        int replicas;
        int64_t batch;
        struct job_factors factors;
        double seconds;
    } * entries;
    int count, capacity;
};
void isolated_run_cache_clear (struct isolated_run_cache *cache);

/* Seconds from the round in which the job starts to its completion, with `replicas` slots (at most
 * its limit) on the fewest nodes of a group, and one start delay.  The job must be able to run there. */
int isolated_run_seconds (struct isolated_run_cache *cache, const struct sim_config *config,
                          const struct workload_job *job, const struct policy *policy, int group,
                          int replicas, double *ret, struct pollux_error *err);

#endif
