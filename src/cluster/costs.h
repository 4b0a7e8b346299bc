/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster costs at a time after its last event.  Events bring the ledger and the costs of jobs up to date at rounds
 * and at changes only; these functions add what has come since then, and change nothing.
 */
#ifndef CLUSTER_COSTS_H
#define CLUSTER_COSTS_H

#include "cluster/cluster.h"

/* The cost of a job so far, and the price of the slots that it has now, per hour. */
double costs_of_job (const struct cluster *cluster, const struct job *job, int64_t now_us);
double costs_of_job_hour (const struct cluster *cluster, const struct job *job);

/* The cost of all jobs so far. */
double costs_of_jobs (const struct cluster *cluster, int64_t now_us);

/* The cost of all nodes so far, and the price per hour of those that are paid for now, of one group or of all (-1).  A node
 * that starts is paid for when it has come, from its order on. */
double costs_of_nodes (const struct cluster *cluster, int64_t now_us);
double costs_of_nodes_hour (const struct cluster *cluster, int group);

/* True if there are prices, or were. */
bool costs_known (const struct cluster *cluster);

/* The ledger at this time, which the caller clears.  -ENOMEM. */
int costs_ledger (const struct cluster *cluster, int64_t now_us, struct ledger *ret,
                  struct pollux_error *err);

#endif
