/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster that was kept otherwise than by its events, put together again: its nodes (as NODE
 * events), then job by job, then the time.
 *
 *     cluster_apply (&cluster, &node, err)                        for every node
 *     cluster_restore_job (&cluster, &submit, &job, now_us, err)  for every job
 *     cluster_restore_time (&cluster, now_us, err)
 *
 * No round is being decided then: the list of active jobs is empty until the next.
 */
#ifndef CLUSTER_RESTORE_H
#define CLUSTER_RESTORE_H

#include "cluster/cluster.h"

/* Submit a job, and then believe of it all that `job` says, but for what SUBMIT has said already;
 * of the spec only what LIMITS can change.  Placements are copied.  -EINVAL for what no events up
 * to now_us could have made of it. */
int cluster_restore_job (struct cluster *cluster, const struct event *submit, const struct job *job,
                         int64_t now_us, struct pollux_error *err);

/* Let it be so late. */
int cluster_restore_time (struct cluster *cluster, int64_t now_us, struct pollux_error *err);

#endif
