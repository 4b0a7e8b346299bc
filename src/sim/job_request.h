/* SPDX-License-Identifier: Apache-2.0 */
/* The request of a workload's job, which depends on the policy. */
#ifndef SIM_JOB_REQUEST_H
#define SIM_JOB_REQUEST_H

#include "policy/policy.h"
#include "sim/sim.h"

struct job_request {
    int max_replicas;
    int64_t batch; /* fixed total batch; 0: the job adapts */
};

/* Under an adaptive policy the application's limits; under others the workload's batch, and at
 * most batch / min_local replicas.  Pinned applications stay pinned, except in a cluster with types. */
struct job_request job_request_of (const struct sim_config *config, const struct workload_job *job,
                                   const struct policy *policy);

/* Fill counts with replicas packed on full nodes.  Returns the number of nodes. */
int packed_counts (int replicas, int slots_per_node, int *counts);

/* The oracle of a simulated job: iteration times with its batch on 1..max_replicas packed slots, of the first type that
 * it can run on.
 * A single replica always accumulates, because measuring its noise needs two gradients.  ret->iter_s belongs to the caller (free).  0 or -ENOMEM. */
int job_request_oracle (const struct sim_config *config, const struct workload_job *job,
                        struct job_request request, struct oracle *ret);

/* Iterations at the workload's batch still to do after e epochs; 1 in the last epoch. */
double remaining_iterations (const struct workload_job *job, int e);

#endif
