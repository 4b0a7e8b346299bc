/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "cluster/event.h"
#include "cluster/name_table.h"
#include "cluster/power.h"
#include "cluster/view.h"

/* Some of the cluster's jobs, in order of submission. */
struct job_list {
    struct job **jobs;
    int *indices;
    int count;
};

/* The state of all nodes and jobs: the fold of all events so far, and of nothing else. */
struct cluster {
    struct node *nodes;
    struct node_power *node_power; /* by node */
    int node_count, node_capacity, power_capacity;
    struct power power; /* groups of nodes */
    struct ledger ledger;
    struct job **jobs; /* by index, in order of submission; includes ended jobs */
    int job_count, job_capacity;
    struct job_list live;   /* jobs that have not ended */
    struct job_list active; /* jobs of the last round: live then, not cancelled, not in back-off
                             * after a failure */
    int paused;             /* jobs that were in back-off then */
    struct name_table node_names, job_names;
    struct experience experience;
    int64_t now_us;   /* of the last event */
    int64_t round_us; /* of the last round */
};

/* Free its contents.  Accepts NULL and a zeroed cluster. */
void cluster_clear (struct cluster *cluster);

/* The latest time of an event, microseconds since 1970: in the year 2255.  A double holds each time up to then. */
#define CLUSTER_TIME_LIMIT_US ((int64_t)1 << 53)

/* Check whether this can be the next event: -EINVAL exactly if cluster_apply would return it.
 * After success cluster_apply can fail only with -ENOMEM. */
int cluster_check (const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err);

/* Apply an event.  -EINVAL, with no change, for an event that contradicts the state: a name that is
 * taken, an unknown or ended job, a time before the last event or after the limit, too many nodes.  -ENOMEM. */
int cluster_apply (struct cluster *cluster, const struct event *event, struct pollux_error *err);

/* The same for an event that has just passed cluster_check: it is not checked again.  -ENOMEM. */
int cluster_apply_checked (struct cluster *cluster, const struct event *event,
                           struct pollux_error *err);

/* The index of the job with this name, or -1. */
int cluster_find_job (const struct cluster *cluster, const char *name);

/* The index of the node with this name, or -1. */
int cluster_find_node (const struct cluster *cluster, const char *name);

/* True if a node has the type, or one that may be ordered. */
bool cluster_has_type (const struct cluster *cluster, const char *type);

/* True if a job has replicas on the node. */
bool cluster_uses_node (const struct cluster *cluster, int node);

/* The index of the node with this name, which is added, without slots, if there is none.  -ENOMEM. */
int cluster_add_node (struct cluster *cluster, const char *name, int64_t at_us,
                      struct pollux_error *err);

/* Bring the costs of jobs up to date: of those on a node; -1: of all. */
int cluster_charge_jobs (struct cluster *cluster, int node, int64_t at_us,
                         struct pollux_error *err);

/* The view for the decision of a round.  It borrows from the cluster until the next event. */
struct view cluster_view (const struct cluster *cluster, const struct round *round);

#endif
