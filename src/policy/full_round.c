/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full round: the policy decides for all jobs, except for those that may not be moved and are on
 * a drained node.  Those finish where they are.  A node with fewer slots than such jobs hold there
 * counts as drained.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Slots of each node that are held by jobs that may not be moved.  NULL: no memory. */
static int *list_held (const struct view *view)
{
    int *held = calloc ((size_t)view->node_count + 1, sizeof (held[0]));
    for (int i = 0; held && i < view->job_count; i++) {
        struct placement placement = view->jobs[i]->placement;
        for (int j = 0; job_pinned (view->jobs[i]) && j < placement.count; j++)
            held[placement.shares[j].node] += placement.shares[j].replicas;
    }
    return held;
}

/* Drain the nodes that have become too small for the jobs that stay there: no policy could place these.  *ret is NULL if no
 * node is too small, or a copy of the nodes, which is the caller's (free). */
static int drain_small_nodes (const struct view *view, struct node **ret)
{
    struct node *nodes = NULL;
    int *held = list_held (view), rc = held ? 0 : -ENOMEM;
    for (int i = 0; rc == 0 && i < view->node_count; i++) {
        if (!view->nodes[i].available || view->nodes[i].slots >= held[i])
            continue;
        if (!nodes) {
            size_t size = (size_t)view->node_count * sizeof (nodes[0]);
            nodes = malloc (size);
            rc = nodes ? 0 : -ENOMEM;
            if (rc == 0)
                memcpy (nodes, view->nodes, size);
        }
        if (rc == 0) {
            nodes[i].available = false;
            nodes[i].slots = held[i];
        }
    }
    free (held);
    *ret = nodes;
    return rc;
}

int decide_full (const struct policy *policy, const struct view *view, struct memory *memory,
                 struct plan *plan, struct pollux_error *err)
{
    struct informed_view informed;
    struct node *nodes;
    if (informed_view_new (view, &informed) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    view = &informed.view;
    int rc = drain_small_nodes (view, &nodes);
    if (rc < 0)
        fail (err, rc, "no memory for the nodes of a plan");
    if (rc == 0 && nodes)
        informed.view.nodes = nodes;
    if (rc == 0)
        rc = all_take_part (view) ? decide (policy, view, memory, plan, err)
                                  : decide_subview (policy, view, memory, plan, err);
    free (nodes);
    informed_view_clear (&informed);
    return rc;
}
