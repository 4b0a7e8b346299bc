/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore a cluster from a snapshot instead of its events: first the groups and the nodes, then
 * the jobs, the experience, the costs, then the time.
 *
 *     cluster_restore_groups (&cluster, &power, now_us, err)         if there are any
 *     cluster_restore_node (&cluster, &node, &power, now_us, err)    for every node
 *     cluster_restore_job (&cluster, &submit, &job, now_us, err)  for every job
 *     cluster_restore_experience (&cluster, &past, err)              for every job of the experience, oldest first
 *     cluster_restore_costs (&cluster, &row, now_us, err)            for every row of the ledger, in its order
 *     cluster_restore_time (&cluster, now_us, err)
 *
 * No round is pending afterwards: the list of active jobs is empty until the next ROUND.
 */
#ifndef CLUSTER_RESTORE_H
#define CLUSTER_RESTORE_H

#include "cluster/cluster.h"

/* Set the groups, their goal and sizes.  -EINVAL for a state that no events up to now_us can lead to. */
int cluster_restore_groups (struct cluster *cluster, const struct power *power, int64_t now_us,
                            struct pollux_error *err);

/* Add a node with its state; its group follows from its name.  -EINVAL for a state that no events up to now_us can lead
 * to, or for a second node of that name; -ENOMEM. */
int cluster_restore_node (struct cluster *cluster, const struct node *node,
                          const struct node_power *power, int64_t now_us, struct pollux_error *err);

/* Append a row to the ledger.  -EINVAL: it is of a later month, or events make no such row; -ENOMEM. */
int cluster_restore_costs (struct cluster *cluster, const struct ledger_row *row, int64_t now_us,
                           struct pollux_error *err);

/* Apply SUBMIT, then copy the state of `job`: everything that later events can change, in the spec
 * the three fields of LIMITS.  Placements are copied.  -EINVAL for a state that no events up to
 * now_us can lead to. */
int cluster_restore_job (struct cluster *cluster, const struct event *submit, const struct job *job,
                         int64_t now_us, struct pollux_error *err);

/* Add a job to the experience, after those that ended before it.  -EINVAL: no event adds such a job. */
int cluster_restore_experience (struct cluster *cluster, const struct ended_job *job,
                                struct pollux_error *err);

/* Set the cluster's clock.  -EINVAL: earlier than the submission of a job. */
int cluster_restore_time (struct cluster *cluster, int64_t now_us, struct pollux_error *err);

#endif
