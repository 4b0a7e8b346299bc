/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy placement as in the published simulator: the node with most free slots first.
 */
#include "policy/free_slots.h"

#include <errno.h>

#include "base/error.h"

int free_slots_new (const struct view *view, struct free_slots *ret, struct pollux_error *err)
{
    size_t count = (size_t)view->node_count;
    struct free_slots slots = {.node_count = view->node_count};
    slots.free = arena_take (&slots.arena, count + 1, sizeof (slots.free[0]));
    slots.taken = arena_take (&slots.arena, count + 1, sizeof (slots.taken[0]));
    slots.pool_free = arena_take (&slots.arena, count + 1, sizeof (slots.pool_free[0]));
    slots.pool_left = arena_take (&slots.arena, count + 1, sizeof (slots.pool_left[0]));
    if (!slots.free || !slots.taken || !slots.pool_free || !slots.pool_left ||
        pools_make_by_type (view->nodes, view->node_count, &slots.arena, &slots.pools) < 0) {
        free_slots_clear (&slots);
        return fail (err, -ENOMEM, "no memory for the slots of %d nodes", view->node_count);
    }
    for (int i = 0; i < view->node_count; i++) {
        slots.free[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
        slots.free_count += slots.free[i];
    }
    for (int i = 0; i < slots.pools.count; i++)
        slots.pool_free[i] = slots.pools.list[i].slots;
    *ret = slots;
    return 0;
}

void free_slots_clear (struct free_slots *slots)
{
    arena_clear (&slots->arena);
    *slots = (struct free_slots){0};
}

static int place (struct free_slots *slots, int job, struct placement placement, struct plan *plan,
                  struct pollux_error *err)
{
    if (plan_place (plan, job, placement) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", plan->job_count);
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        slots->free[share.node] -= share.replicas;
        slots->pool_free[slots->pools.of_node[share.node]] -= share.replicas;
    }
    slots->free_count -= placement_replicas (placement);
    return 0;
}

int free_slots_keep (struct free_slots *slots, const struct view *view, int job, struct plan *plan,
                     struct pollux_error *err)
{
    struct placement placement = view->jobs[job]->placement;
    int pool = pools_find (&slots->pools, placement);
    if ((pool < 0 || !job_allows_type (view->jobs[job], slots->pools.list[pool].type)) &&
        !job_pinned (view->jobs[job]))
        return 0;
    for (int i = 0; i < placement.count; i++)
        if (slots->free[placement.shares[i].node] < placement.shares[i].replicas)
            return 0;
    return place (slots, job, placement, plan, err);
}

int free_slots_take (struct free_slots *slots, const struct view *view, int job, int replicas,
                     int pool, struct plan *plan, struct pollux_error *err)
{
    int count = 0;
    bool any = pool < 0;
    for (int i = 0; any && i < slots->pools.count; i++)
        if (job_allows_type (view->jobs[job], slots->pools.list[i].type) &&
            (pool < 0 || slots->pool_free[i] > slots->pool_free[pool]))
            pool = i;
    if (pool < 0 || slots->pool_free[pool] < replicas)
        return 0;
    while (replicas > 0) {
        int node = -1;
        for (int i = 0; i < slots->node_count; i++)
            if (slots->pools.of_node[i] == pool && (node < 0 || slots->free[i] > slots->free[node]))
                node = i;
        int some = slots->free[node] < replicas ? slots->free[node] : replicas;
        slots->taken[count++] = (struct share){.node = node, .replicas = some};
        replicas -= some;
        slots->free[node] -= some;
    }
    for (int i = 0; i < count; i++) /* place counts them again */
        slots->free[slots->taken[i].node] += slots->taken[i].replicas;
    return place (slots, job, (struct placement){slots->taken, count}, plan, err);
}
