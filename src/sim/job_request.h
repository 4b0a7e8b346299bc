/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload's job asks for, which depends on who schedules it. */
#ifndef SIM_JOB_REQUEST_H
#define SIM_JOB_REQUEST_H

#include "policy/policy.h"
#include "sim/sim.h"

struct job_request {
    int max_replicas;
    int64_t batch; /* total batch that it keeps to; 0: it adapts */
};

/* Under a policy whose jobs adapt, the application's limits; under others, the workload's batch
 * and as many replicas as that batch can be cut for.  Pinned applications stay pinned. */
struct job_request job_request_of (const struct sim_config *config, const struct workload_job *job,
                                   const struct policy *policy);

/* Fill counts with replicas packed on full nodes; returns how many nodes. */
int packed_counts (int replicas, int slots_per_node, int *counts);

/* What a simulation's oracle knows of the job: iteration times with its batch on 1..max_replicas
 * packed slots.  A single replica always accumulates, as its noise could not be measured
 * otherwise.  ret->iter_s belongs to the caller (free).  0 or -ENOMEM. */
int job_request_oracle (const struct sim_config *config, const struct workload_job *job,
                        struct job_request request, struct oracle *ret);

/* Iterations at the workload's batch still to do after e epochs; 1 in the last epoch. */
double remaining_iterations (const struct workload_job *job, int e);

#endif
