/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the wanted numbers of nodes (SIZE) to orders and returns (POWER): which node is ordered, drained or returned next.
 * The same for the simulator and the daemon; what carries it out differs.
 */
#ifndef SCALING_POWER_NEXT_H
#define SCALING_POWER_NEXT_H

#include "cluster/cluster.h"

/* 1 and the next POWER event at this time, to be applied before the next call; 0: none; -ENOMEM.  The time is in proportion to
 * the number of nodes and of shares of jobs.
 *
 * - An order whose deadline has passed has failed; its node is not ordered again for a minute, twice as long after each
 *   further failure, at most an hour, and nothing is ordered in its group meanwhile.
 * - A node that is drained is returned when no job is left on it, or at its deadline.  Jobs there that may not be moved have their
 *   grace before: the node is stopping already then, and keeps its deadline.
 * - If a group has more nodes than wanted, an order is cancelled, or else the node with the fewest replicas is drained, nodes
 *   with jobs that may not be moved last.
 * - If it has fewer, the first node that was there before and is off is ordered, or else one with a new name. */
int power_next (const struct cluster *cluster, int64_t now_us, struct event *ret);

/* The same without orders in some groups: bit i of held is that of group i. */
int power_next_except (const struct cluster *cluster, unsigned held, int64_t now_us,
                       struct event *ret);

/* The next deadline after which power_next may return an event that it did not return before; INT64_MAX: none. */
int64_t power_due_us (const struct cluster *cluster);

/* When jobs that may not be moved have to be stopped on a node with a deadline, so that the longest grace of these is over then.
 * Without such jobs: the deadline. */
int64_t power_stop_us (const struct cluster *cluster, int node);

/* How much each node is used: the replicas on it; a job that may not be moved counts more than all replicas that a node may
 * have.  ret[node_count]. */
void power_loads (const struct job *const *jobs, int job_count, int node_count, int64_t *ret);

/* The node of a group that is drained next if one is too many: of those that are up the last one of those with the least load; -1:
 * none is up. */
int power_least_loaded (const struct node_power *node_power, int node_count, const int64_t *loads,
                        int group);

#endif
