/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out slots one job at a time, for policies that place greedily. */
#ifndef POLICY_FREE_SLOTS_H
#define POLICY_FREE_SLOTS_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* The slots that nobody has yet, by node; none on nodes that are not available. */
struct free_slots {
    int *free;
    int free_count; /* in all */
    int node_count;
    struct share *taken; /* scratch */
};

/* All slots of the available nodes free.  slots_clear frees. */
int free_slots_new (const struct view *view, struct free_slots *ret, struct pollux_error *err);
void free_slots_clear (struct free_slots *slots);

/* Let a job of the view keep its current placement, in the plan too.  A placement that no longer
 * fits (its node is gone or not available) is dropped: the job is left without. */
int free_slots_keep (struct free_slots *slots, const struct view *view, int job, struct plan *plan,
                     struct pollux_error *err);

/* Take replicas from the node with most free slots (lowest index on a tie), as many as possible,
 * then from the next such node, in that order; replicas <= free_count. */
int free_slots_take (struct free_slots *slots, int job, int replicas, struct plan *plan,
                     struct pollux_error *err);

#endif
