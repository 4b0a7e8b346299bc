/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out slots one job at a time, for policies that place greedily. */
#ifndef POLICY_FREE_SLOTS_H
#define POLICY_FREE_SLOTS_H

#include "cluster/plan.h"
#include "cluster/pools.h"
#include "cluster/view.h"

/* The slots not given out yet, by node; none on nodes that are not available. */
struct free_slots {
    int *free;
    int free_count; /* in all */
    int node_count;
    struct pools pools;
    int *pool_free;      /* by pool */
    int *pool_left;      /* by pool, scratch */
    struct share *taken; /* scratch */
    struct arena arena;
};

/* All slots of the available nodes.  The caller frees with free_slots_clear. */
int free_slots_new (const struct view *view, struct free_slots *ret, struct pollux_error *err);
void free_slots_clear (struct free_slots *slots);

/* Place a job on its current placement in the plan.  If that no longer fits (a node is gone, not
 * available, or of another type than the others or of one that the job may not use), the job is left without slots. */
int free_slots_keep (struct free_slots *slots, const struct view *view, int job, struct plan *plan,
                     struct pollux_error *err);

/* Place a job on nodes of one type: as many replicas as possible on the node with most free slots
 * (lowest index on a tie), then on the next such node.  pool: of this type; -1: of the type with
 * most free slots of those that the job may use.  If it has too few, the job is left without slots. */
int free_slots_take (struct free_slots *slots, const struct view *view, int job, int replicas,
                     int pool, struct plan *plan, struct pollux_error *err);

#endif
