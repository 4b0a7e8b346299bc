/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_VIEW_H
#define CLUSTER_VIEW_H

#include <stdint.h>

#include "cluster/experience.h"
#include "cluster/job.h"
#include "cluster/node.h"
#include "cluster/policy_settings.h"
#include "cluster/power.h"

/* Everything that a decision depends on: the state of the cluster at one time, and how to decide.
 * The view borrows all of it; it must not change during the decision. */
struct view {
    const struct node *nodes;
    int node_count;
    const struct power *power;           /* groups of nodes; NULL: there are none */
    const struct node_power *node_power; /* by node, if there are groups */
    const struct job *const *jobs;       /* active jobs, in order of submission */
    int job_count;
    int paused;                      /* further jobs, which wait out a pause after a failure */
    double now_s;                    /* of this round, on the cluster's clock */
    double interval_s;               /* between full rounds */
    double restart_delay_s;          /* of jobs without their own */
    double p;                        /* fairness, -inf..1 */
    struct policy_settings settings; /* other options of the policy */
    enum pollux_search search;
    uint64_t seed;  /* of this round */
    int64_t budget; /* steps of search, 0: the policy's default */
    const struct experience
        *experience; /* that jobs learn from; NULL: they know what they have measured */
    const struct experience *learned; /* of an informed view: what its jobs have learned from */
    const struct view *whole; /* of a part of a view (policy/subview.h): all of it; else NULL */
};

/* A copy of a view that events do not change, for a decision in another thread.  The cluster must
 * outlive it: programs and oracles of jobs are not copied.  NULL: no memory. */
struct view_copy;
struct view_copy *view_copy (const struct view *view);
const struct view *view_copy_view (const struct view_copy *copy);
void view_copy_free (struct view_copy *copy);

/* The time of the round in microseconds, as in events. */
int64_t view_now_us (const struct view *view);

/* Number of slots of the available nodes; number of available nodes. */
int view_slots (const struct view *view);
int view_nodes (const struct view *view);

/* True if all nodes of a placement are available; false without a placement. */
bool view_is_available (const struct view *view, struct placement placement);

/* True if the job may not be moved, and its nodes are available: it stays where it is. */
bool view_is_fixed (const struct view *view, const struct job *job);

/* The restart delay of a job in seconds: from its spec, else as measured, else the cluster's. */
double view_restart_delay (const struct view *view, const struct job *job);

#endif
