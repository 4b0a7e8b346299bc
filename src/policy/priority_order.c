/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the policies that serve jobs one after the other.  They differ in the order
 * and in the sizes:
 *
 *     rank or share_out (the policy's) -> sort -> skip what does not fit -> keep placements -> place the others
 */
#include "policy/priority_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/free_slots.h"
#include "policy/policy.h"
#include "policy/pool_room.h"

static int priorities_new (const struct view *view, struct priority **ret, struct pollux_error *err)
{
    struct priority *priorities = calloc ((size_t)view->job_count + 1, sizeof (priorities[0]));
    if (!priorities)
        return fail (err, -ENOMEM, "no memory for the priorities of %d jobs", view->job_count);
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        priorities[i].job = i;
        priorities[i].pool = -1;
        if (job_pinned (job)) {
            priorities[i].replicas = placement_replicas (job->placement);
            priorities[i].stays = view_is_available (view, job->placement);
        }
    }
    *ret = priorities;
    return 0;
}

void priority_as_requested (struct priority *priority, const struct view *view, int level,
                            double key)
{
    const struct job *job = view->jobs[priority->job];
    priority->level = job_pinned (job) ? -1 : level;
    priority->key = key;
    if (!job_pinned (job))
        priority->replicas = job_request (job);
}

static int compare (const void *left, const void *right)
{
    const struct priority *a = left, *b = right;
    if (a->stays != b->stays)
        return a->stays ? -1 : 1;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

void priority_order_sort (struct priority *priorities, int count)
{
    qsort (priorities, (size_t)count, sizeof (priorities[0]), compare);
}

/* The pool whose slots a job counts against: its present one if it keeps its size there, else the one with most slots left
 * of those that it may use; -1: none. */
static int pool_for (const struct free_slots *slots, const int *left, const struct job *job,
                     int replicas)
{
    int best = -1, now = pools_find (&slots->pools, job->placement);
    bool keeps = now >= 0 && placement_replicas (job->placement) == replicas &&
                 job_allows_type (job, slots->pools.list[now].type);
    if (job_pinned (job) || (keeps && left[now] >= replicas))
        return now;
    for (int i = 0; i < slots->pools.count; i++)
        if (job_allows_type (job, slots->pools.list[i].type) && (best < 0 || left[i] > left[best]))
            best = i;
    return best;
}

/* Remove the jobs that do not run, and return how many are left.  In order, so that a running job does not keep slots
 * that one before it needs.  A job that may not be moved, on nodes of several types, counts nowhere. */
static int drop_unfit (struct priority *priorities, int count, const struct view *view,
                       struct free_slots *slots)
{
    int kept = 0, *left = slots->pool_left;
    for (int i = 0; i < slots->pools.count; i++)
        left[i] = slots->pool_free[i];
    for (int i = 0; i < count; i++) {
        const struct job *job = view->jobs[priorities[i].job];
        int replicas = priorities[i].replicas, pool = priorities[i].pool;
        if (pool < 0)
            pool = pool_for (slots, left, job, replicas);
        if (replicas == 0 || (pool < 0 ? !job_pinned (job) : replicas > left[pool]))
            continue;
        if (pool >= 0)
            left[pool] -= replicas;
        priorities[kept++] = priorities[i];
    }
    return kept;
}

/* Keep the placements of the pinned jobs, or of the others, whose replica count and pool are unchanged. */
static int keep (const struct priority *priorities, int count, bool pinned, const struct view *view,
                 struct free_slots *slots, struct plan *plan, struct pollux_error *err)
{
    int rc = 0;
    for (int i = 0; i < count && rc == 0; i++) {
        const struct job *job = view->jobs[priorities[i].job];
        int pool = priorities[i].pool;
        if (job_pinned (job) == pinned &&
            placement_replicas (job->placement) == priorities[i].replicas &&
            (pool < 0 || pool == pools_find (&slots->pools, job->placement)))
            rc = free_slots_keep (slots, view, priorities[i].job, plan, err);
    }
    return rc;
}

static int serve (struct priority *priorities, int count, const struct view *view,
                  struct plan *plan, struct pollux_error *err)
{
    struct free_slots slots;
    int rc = free_slots_new (view, &slots, err);
    if (rc < 0)
        return rc;
    priority_order_sort (priorities, count);
    count = drop_unfit (priorities, count, view, &slots);
    /* On a node that shrank not all jobs can stay; those that may not be preempted come first. */
    rc = keep (priorities, count, true, view, &slots, plan, err);
    if (rc == 0)
        rc = keep (priorities, count, false, view, &slots, plan, err);
    for (int i = 0; i < count && rc == 0; i++)
        if (plan_placement (plan, priorities[i].job).count == 0)
            rc = free_slots_take (&slots, view, priorities[i].job, priorities[i].replicas,
                                  priorities[i].pool, plan, err);
    free_slots_clear (&slots);
    return rc;
}

int decide_in_order (const struct policy *policy, const struct view *view, void *memory,
                     struct plan *plan, struct pollux_error *err)
{
    struct priority *priorities = NULL;
    int rc = priorities_new (view, &priorities, err);
    if (rc < 0)
        return rc;
    rc = policy->rank ? policy->rank (view, memory, priorities, err)
                      : with_pool_room (view, priorities, policy->share_out, err);
    if (rc >= 0)
        rc = serve (priorities, rc, view, plan, err);
    free (priorities);
    return rc;
}
