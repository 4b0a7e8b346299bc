/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the policies that serve jobs one after the other have in common: they differ in the order
 * and in the sizes, and agree on the rest.
 */
#include "policy/priority_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/free_slots.h"

int priority_order_new (const struct view *view, struct turn **ret, struct pollux_error *err)
{
    struct turn *turns = calloc ((size_t)view->job_count + 1, sizeof (turns[0]));
    if (!turns)
        return fail (err, -ENOMEM, "no memory for the turns of %d jobs", view->job_count);
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        turns[i].job = i;
        if (job_pinned (job))
            turns[i].replicas = placement_replicas (job->placement);
    }
    *ret = turns;
    return 0;
}

void turn_as_requested (struct turn *turn, const struct view *view, int level, double key)
{
    const struct job *job = view->jobs[turn->job];
    turn->level = job_pinned (job) ? -1 : level;
    turn->key = key;
    if (!job_pinned (job))
        turn->replicas = job_request (job);
}

int priority_order_begin (struct turn *turns, const struct view *view)
{
    int left = view_slots (view);
    for (int i = 0; i < view->job_count; i++)
        left -= turns[i].replicas;
    for (int i = 0; i < view->job_count; i++) {
        int fewest = job_next_replicas (view->jobs[i], 0);
        if (turns[i].replicas == 0 && fewest <= left &&
            fewest <= job_most_replicas (view->jobs[i])) {
            turns[i].replicas = fewest;
            left -= fewest;
        }
    }
    return left;
}

static int compare (const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

void priority_order_sort (struct turn *turns, int count)
{
    qsort (turns, (size_t)count, sizeof (turns[0]), compare);
}

/* Drop the turns of those that do not run, and return how many are left. */
static int drop_unfit (struct turn *turns, int count, int slots)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (turns[i].replicas > 0 && turns[i].replicas <= slots) {
            slots -= turns[i].replicas;
            turns[kept++] = turns[i];
        }
    return kept;
}

static int keep (const struct turn *turns, int count, bool pinned, const struct view *view,
                 struct free_slots *slots, struct plan *plan, struct pollux_error *err)
{
    int rc = 0;
    for (int i = 0; i < count && rc == 0; i++) {
        const struct job *job = view->jobs[turns[i].job];
        if (job_pinned (job) == pinned && placement_replicas (job->placement) == turns[i].replicas)
            rc = free_slots_keep (slots, view, turns[i].job, plan, err);
    }
    return rc;
}

int priority_order_serve (struct turn *turns, int count, const struct view *view, struct plan *plan,
                          struct pollux_error *err)
{
    struct free_slots slots;
    int rc = free_slots_new (view, &slots, err);
    if (rc < 0)
        return rc;
    priority_order_sort (turns, count);
    count = drop_unfit (turns, count, slots.free_count);
    /* On a node that shrank not all can stay; those that may not be preempted come first. */
    rc = keep (turns, count, true, view, &slots, plan, err);
    if (rc == 0)
        rc = keep (turns, count, false, view, &slots, plan, err);
    for (int i = 0; i < count && rc == 0; i++)
        if (plan_placement (plan, turns[i].job).count == 0)
            rc = free_slots_take (&slots, turns[i].job, turns[i].replicas, plan, err);
    free_slots_clear (&slots);
    return rc;
}
