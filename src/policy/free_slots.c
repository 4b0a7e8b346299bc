/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy placement as in the published simulator: the node with most free slots first.
 */
#include "policy/free_slots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int free_slots_new (const struct view *view, struct free_slots *ret, struct pollux_error *err)
{
    size_t count = (size_t)view->node_count;
    struct free_slots slots = {
        .free = calloc (count + 1, sizeof (slots.free[0])),
        .taken = calloc (count + 1, sizeof (slots.taken[0])),
        .node_count = view->node_count,
    };
    if (!slots.free || !slots.taken) {
        free_slots_clear (&slots);
        return fail (err, -ENOMEM, "no memory for the slots of %d nodes", view->node_count);
    }
    for (int i = 0; i < view->node_count; i++) {
        slots.free[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
        slots.free_count += slots.free[i];
    }
    *ret = slots;
    return 0;
}

void free_slots_clear (struct free_slots *slots)
{
    free (slots->free);
    free (slots->taken);
    *slots = (struct free_slots){0};
}

static int place (struct free_slots *slots, int job, struct placement placement, struct plan *plan,
                  struct pollux_error *err)
{
    if (plan_place (plan, job, placement) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", plan->job_count);
    for (int i = 0; i < placement.count; i++)
        slots->free[placement.shares[i].node] -= placement.shares[i].replicas;
    slots->free_count -= placement_replicas (placement);
    return 0;
}

int free_slots_keep (struct free_slots *slots, const struct view *view, int job, struct plan *plan,
                     struct pollux_error *err)
{
    struct placement placement = view->jobs[job]->placement;
    for (int i = 0; i < placement.count; i++)
        if (slots->free[placement.shares[i].node] < placement.shares[i].replicas)
            return 0;
    return place (slots, job, placement, plan, err);
}

int free_slots_take (struct free_slots *slots, int job, int replicas, struct plan *plan,
                     struct pollux_error *err)
{
    int count = 0;
    while (replicas > 0) {
        int node = 0;
        for (int i = 1; i < slots->node_count; i++)
            if (slots->free[i] > slots->free[node])
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
