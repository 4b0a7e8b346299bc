/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A smaller cluster for those who take part in a decision.
 */
#include "policy/subview.h"

#include <errno.h>
#include <stdlib.h>

void subview_clear (struct subview *rest)
{
    free (rest->nodes);
    free (rest->jobs);
    free (rest->indices);
    *rest = (struct subview){0};
}

/* A job that moves holds what it leaves until it has left, and what it goes to; what is in both
 * counts once. */
static void hold (struct node *nodes, const struct job *job)
{
    for (int i = 0; i < job->placement.count; i++)
        nodes[job->placement.shares[i].node].slots -= job->placement.shares[i].replicas;
    for (int i = 0; i < job->desired.count; i++) {
        struct share share = job->desired.shares[i];
        for (int j = 0; j < job->placement.count; j++)
            if (job->placement.shares[j].node == share.node)
                share.replicas -= job->placement.shares[j].replicas;
        if (share.replicas > 0)
            nodes[share.node].slots -= share.replicas;
    }
}

int subview_new (const struct view *view,
                 bool (*takes_part) (const struct view *view, const struct job *job),
                 struct subview *ret)
{
    size_t nodes = (size_t)view->node_count + 1, jobs = (size_t)view->job_count + 1;
    struct subview rest = {.view = *view,
                           .nodes = malloc (nodes * sizeof (rest.nodes[0])),
                           .jobs = malloc (jobs * sizeof (rest.jobs[0])),
                           .indices = malloc (jobs * sizeof (rest.indices[0]))};
    if (!rest.nodes || !rest.jobs || !rest.indices) {
        subview_clear (&rest);
        return -ENOMEM;
    }
    int count = 0;
    for (int i = 0; i < view->node_count; i++)
        rest.nodes[i] = view->nodes[i];
    for (int i = 0; i < view->job_count; i++) {
        if (!takes_part (view, view->jobs[i])) {
            hold (rest.nodes, view->jobs[i]);
            continue;
        }
        rest.jobs[count] = view->jobs[i];
        rest.indices[count++] = i;
    }
    for (int i = 0; i < view->node_count; i++)
        if (rest.nodes[i].slots <= 0)
            rest.nodes[i].available = false; /* a full node, or one that shrank */
    rest.view.nodes = rest.nodes;
    rest.view.jobs = rest.jobs;
    rest.view.job_count = count;
    *ret = rest;
    return 0;
}

int subview_place (const struct subview *rest, const struct plan *decided, struct plan *plan)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < rest->view.job_count; i++) {
        rc = plan_place (plan, rest->indices[i], plan_placement (decided, i));
        plan->speedups[rest->indices[i]] = decided->speedups[i];
    }
    return rc;
}
