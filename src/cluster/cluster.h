/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "cluster/event.h"
#include "cluster/name_table.h"
#include "cluster/view.h"

/* Some of the cluster's jobs, in order of submission. */
struct job_list {
    struct job **jobs;
    int *indices;
    int count;
};

/* What is believed of all nodes and jobs: nothing but the fold of the events so far. */
struct cluster {
    struct node *nodes;
    int node_count, node_capacity;
    struct job **jobs; /* by index, in order of submission, ended ones too */
    int job_count, job_capacity;
    struct job_list live;   /* those that have not ended */
    struct job_list active; /* those that the last round decides on: live then, not cancelled, not
                             * waiting to be tried again after a failure */
    struct name_table node_names, job_names;
    int64_t now_us;   /* of the last event */
    int64_t round_us; /* of the last round */
};

/* Free what it holds; NULL and zero are fine. */
void cluster_clear (struct cluster *cluster);

/* Could this be the next event?  What cluster_apply would refuse is refused in the same way; only
 * memory can still be short. */
int cluster_check (const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err);

/* Believe an event.  An event that does not fit what is believed (a name twice, an unknown job, one
 * that has ended, time running backwards, one node too many) is refused with -EINVAL and changes
 * nothing. */
int cluster_apply (struct cluster *cluster, const struct event *event, struct pollux_error *err);

/* The same for an event that has just passed cluster_check: it is not checked again.  -ENOMEM. */
int cluster_apply_checked (struct cluster *cluster, const struct event *event,
                           struct pollux_error *err);

/* The index of the job of that name, or -1. */
int cluster_find_job (const struct cluster *cluster, const char *name);

/* The index of the node of that name, or -1. */
int cluster_find_node (const struct cluster *cluster, const char *name);

/* The view that a round decides on, borrowed until the next event. */
struct view cluster_view (const struct cluster *cluster, const struct round *round);

#endif
