/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full round: the policy decides for all jobs, except for those that may not be moved and are on
 * a drained node.  Those finish where they are.
 */
#include <errno.h>

#include "base/error.h"
#include "policy/informed_view.h"
#include "policy/policy.h"
#include "policy/subview.h"

/* A drained node takes no replicas, but has slots.  A node that has gone has none. */
static bool is_drained (const struct node *node)
{
    return !node->available && node->slots > 0;
}

/* Whether the policy decides for the job. */
static bool takes_part (const struct view *view, const struct job *job)
{
    bool drained = false;
    if (!job_pinned (job))
        return true;
    for (int i = 0; i < job->placement.count; i++) {
        struct share share = job->placement.shares[i];
        const struct node *node = &view->nodes[share.node];
        if (node->slots < share.replicas)
            return true; /* it cannot stay */
        drained |= is_drained (node);
    }
    return !drained;
}

static bool all_take_part (const struct view *view)
{
    bool drained = false;
    for (int i = 0; i < view->node_count && !drained; i++)
        drained = is_drained (&view->nodes[i]);
    for (int i = 0; i < view->job_count && drained; i++)
        if (!takes_part (view, view->jobs[i]))
            return false;
    return true;
}

static int decide_subview (const struct policy *policy, const struct view *view,
                           struct memory *memory, struct plan *plan, struct pollux_error *err)
{
    struct subview subview;
    struct plan decided = {0};
    if (subview_new (view, takes_part, &subview) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    int rc = decide (policy, &subview.view, memory, &decided, err);
    if (rc == 0) {
        rc = plan_reset (plan, view->job_count);
        for (int i = 0; rc == 0 && i < view->job_count; i++)
            if (!takes_part (view, view->jobs[i]))
                rc = plan_place (plan, i, view->jobs[i]->placement);
        if (rc == 0)
            rc = subview_place (&subview, &decided, plan);
        if (rc < 0)
            fail (err, rc, "no memory for a plan of %d jobs", view->job_count);
        plan->fitness = decided.fitness;
        plan->bound = decided.bound;
        plan->price = decided.price;
    }
    plan_clear (&decided);
    subview_clear (&subview);
    return rc;
}

int decide_full (const struct policy *policy, const struct view *view, struct memory *memory,
                 struct plan *plan, struct pollux_error *err)
{
    struct informed_view informed;
    if (informed_view_new (view, &informed) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    view = &informed.view;
    int rc = all_take_part (view) ? decide (policy, view, memory, plan, err)
                                  : decide_subview (policy, view, memory, plan, err);
    informed_view_clear (&informed);
    return rc;
}
