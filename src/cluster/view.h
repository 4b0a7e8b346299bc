/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_VIEW_H
#define CLUSTER_VIEW_H

#include <stdint.h>

#include "cluster/job.h"
#include "cluster/node.h"
#include "cluster/policy_settings.h"

/* All that a decision may depend on: one moment of the cluster, and how to decide.  Everything
 * is borrowed and does not change while somebody decides. */
struct view {
    const struct node *nodes;
    int node_count;
    const struct job *const *jobs; /* the active ones, in order of submission */
    int job_count;
    double now_s;                    /* of this round, on the cluster's clock */
    double interval_s;               /* between full rounds */
    double restart_delay_s;          /* of jobs that do not say otherwise */
    double p;                        /* fairness, -inf..1 */
    struct policy_settings settings; /* other options of the policy */
    enum pollux_search search;
    uint64_t seed;  /* of this round */
    int64_t budget; /* steps of search, 0: the policy's default */
};

/* A view that no event changes: a copy of all that a decision looks at, for another thread.  It
 * must not outlive the cluster, which still holds the jobs' programs and oracles.  NULL: no
 * memory. */
struct view_copy;
struct view_copy *view_copy (const struct view *view);
const struct view *view_copy_view (const struct view_copy *copy);
void view_copy_free (struct view_copy *copy);

/* Slots of the available nodes, and how many such nodes there are. */
int view_slots (const struct view *view);
int view_nodes (const struct view *view);

/* The restart delay that holds for a job, in seconds: what its owner says, what was measured, or
 * the cluster's. */
double view_restart_delay (const struct view *view, const struct job *job);

#endif
