/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore a cluster from a snapshot instead of its events: first the nodes (as NODE events), then
 * the jobs, the experience, then the time.
 *
 *     cluster_apply (&cluster, &node, err)                        for every node
 *     cluster_restore_job (&cluster, &submit, &job, now_us, err)  for every job
 *     cluster_restore_experience (&cluster, &past, err)              for every job of the experience, oldest first
 *     cluster_restore_time (&cluster, now_us, err)
 *
 * No round is pending afterwards: the list of active jobs is empty until the next ROUND.
 */
#ifndef CLUSTER_RESTORE_H
#define CLUSTER_RESTORE_H

#include "cluster/cluster.h"

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
