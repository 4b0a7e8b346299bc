/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round that only fills free slots: the policy decides on a smaller cluster, made of what is
 * neither in use nor planned for somebody, for the jobs that have and are promised nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/policy.h"

/* The smaller cluster, and where its jobs are in the whole one. */
struct rest {
    struct node *nodes;
    const struct job **jobs;
    int *indices;
    int job_count;
};

static void rest_clear (struct rest *rest)
{
    free (rest->nodes);
    free (rest->jobs);
    free (rest->indices);
}

/* Has the job no slots, and none planned? */
static bool waits (const struct job *job)
{
    return job->placement.count == 0 && job->desired.count == 0;
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

static int rest_init (const struct view *view, struct rest *ret)
{
    size_t nodes = (size_t)view->node_count + 1, jobs = (size_t)view->job_count + 1;
    struct rest rest = {.nodes = malloc (nodes * sizeof (rest.nodes[0])),
                        .jobs = malloc (jobs * sizeof (rest.jobs[0])),
                        .indices = malloc (jobs * sizeof (rest.indices[0]))};
    if (!rest.nodes || !rest.jobs || !rest.indices) {
        rest_clear (&rest);
        return -ENOMEM;
    }
    for (int i = 0; i < view->node_count; i++)
        rest.nodes[i] = view->nodes[i];
    for (int i = 0; i < view->job_count; i++) {
        hold (rest.nodes, view->jobs[i]);
        if (waits (view->jobs[i])) {
            rest.jobs[rest.job_count] = view->jobs[i];
            rest.indices[rest.job_count++] = i;
        }
    }
    for (int i = 0; i < view->node_count; i++)
        if (rest.nodes[i].slots <= 0)
            rest.nodes[i].available = false; /* a full node, or one that shrank */
    *ret = rest;
    return 0;
}

/* Decide on the rest, and put that beside what runs. */
static int fill (const struct policy *policy, const struct view *view, const struct rest *rest,
                 struct plan *plan, struct pollux_error *err)
{
    struct view free_view = *view;
    free_view.nodes = rest->nodes;
    free_view.jobs = rest->jobs;
    free_view.job_count = rest->job_count;
    struct memory memory = {0};
    struct plan filled = {0};
    int rc = memory_new (policy, &memory, err);
    if (rc == 0)
        rc = decide (policy, &free_view, &memory, &filled, err);
    if (rc == 0 && plan_reset (plan, view->job_count) < 0)
        rc = -ENOMEM;
    for (int i = 0; rc == 0 && i < view->job_count; i++)
        rc = plan_place (plan, i, view->jobs[i]->desired);
    for (int i = 0; rc == 0 && i < rest->job_count; i++)
        rc = plan_place (plan, rest->indices[i], plan_placement (&filled, i));
    memory_clear (&memory);
    plan_clear (&filled);
    return rc == -ENOMEM ? fail (err, rc, "no memory for a plan of %d jobs", view->job_count) : rc;
}

int decide_fill (const struct policy *policy, const struct view *view, struct plan *plan,
                 struct pollux_error *err)
{
    struct rest rest;
    if (rest_init (view, &rest) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    int rc = fill (policy, view, &rest, plan, err);
    rest_clear (&rest);
    return rc;
}
