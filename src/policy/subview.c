/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A smaller cluster for the jobs that take part in a decision.
 */
#include "policy/subview.h"

#include <errno.h>
#include <stdlib.h>

void subview_clear (struct subview *subview)
{
    free (subview->nodes);
    free (subview->jobs);
    free (subview->indices);
    *subview = (struct subview){0};
}

/* Subtract a job's slots.  A job that moves holds its old slots until it has left them, and its new
 * ones; slots in both count once. */
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
    struct subview subview = {.view = *view,
                              .nodes = malloc (nodes * sizeof (subview.nodes[0])),
                              .jobs = malloc (jobs * sizeof (subview.jobs[0])),
                              .indices = malloc (jobs * sizeof (subview.indices[0]))};
    if (!subview.nodes || !subview.jobs || !subview.indices) {
        subview_clear (&subview);
        return -ENOMEM;
    }
    int count = 0;
    for (int i = 0; i < view->node_count; i++)
        subview.nodes[i] = view->nodes[i];
    for (int i = 0; i < view->job_count; i++) {
        if (!takes_part (view, view->jobs[i])) {
            hold (subview.nodes, view->jobs[i]);
            continue;
        }
        subview.jobs[count] = view->jobs[i];
        subview.indices[count++] = i;
    }
    for (int i = 0; i < view->node_count; i++)
        if (subview.nodes[i].slots <= 0)
            subview.nodes[i].available = false; /* a full node, or one that shrank */
    subview.view.nodes = subview.nodes;
    subview.view.jobs = subview.jobs;
    subview.view.job_count = count;
    subview.view.whole = view->whole ? view->whole : view;
    *ret = subview;
    return 0;
}

int subview_place (const struct subview *subview, const struct plan *decided, struct plan *plan)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < subview->view.job_count; i++) {
        rc = plan_place (plan, subview->indices[i], plan_placement (decided, i));
        plan->speedups[subview->indices[i]] = decided->speedups[i];
    }
    return rc;
}
