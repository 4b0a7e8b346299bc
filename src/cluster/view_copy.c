/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of views for other threads: nodes, jobs and shares in one array each.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/view.h"

struct view_copy {
    struct view view;
    struct node *nodes;
    struct power power;
    struct node_power *node_power;
    struct job *jobs;
    const struct job **pointers;
    struct share *shares;
    struct experience experience;
};

void view_copy_free (struct view_copy *copy)
{
    if (!copy)
        return;
    free (copy->nodes);
    free (copy->node_power);
    free (copy->jobs);
    free (copy->pointers);
    free (copy->shares);
    experience_clear (&copy->experience);
    free (copy);
}

/* Copy the shares of a placement to `to` and let the placement point there; returns the end. */
static struct share *copy_shares (struct placement *placement, struct share *to)
{
    if (placement->count > 0)
        memcpy (to, placement->shares, (size_t)placement->count * sizeof (to[0]));
    placement->shares = to;
    return to + placement->count;
}

static void fill (struct view_copy *copy, const struct view *view)
{
    struct share *at = copy->shares;
    if (view->node_count > 0)
        memcpy (copy->nodes, view->nodes, (size_t)view->node_count * sizeof (copy->nodes[0]));
    if (view->power && view->node_count > 0)
        memcpy (copy->node_power, view->node_power,
                (size_t)view->node_count * sizeof (copy->node_power[0]));
    if (view->power)
        copy->power = *view->power;
    for (int i = 0; i < view->job_count; i++) {
        struct job *job = &copy->jobs[i];
        *job = *view->jobs[i];
        job->shares = job->desired_shares = NULL;
        at = copy_shares (&job->placement, at);
        at = copy_shares (&job->desired, at);
        copy->pointers[i] = job;
    }
    copy->view = *view;
    copy->view.nodes = copy->nodes;
    copy->view.power = view->power ? &copy->power : NULL;
    copy->view.node_power = copy->node_power;
    copy->view.jobs = copy->pointers;
    copy->view.experience = view->experience ? &copy->experience : NULL;
}

struct view_copy *view_copy (const struct view *view)
{
    size_t nodes = (size_t)view->node_count, jobs = (size_t)view->job_count, shares = 0;
    for (int i = 0; i < view->job_count; i++)
        shares += (size_t)view->jobs[i]->placement.count + (size_t)view->jobs[i]->desired.count;
    struct view_copy *copy = calloc (1, sizeof (*copy));
    if (!copy)
        return NULL;
    copy->nodes = malloc ((nodes + 1) * sizeof (copy->nodes[0]));
    copy->node_power = malloc ((nodes + 1) * sizeof (copy->node_power[0]));
    copy->jobs = malloc ((jobs + 1) * sizeof (copy->jobs[0]));
    copy->pointers = malloc ((jobs + 1) * sizeof (copy->pointers[0]));
    copy->shares = malloc ((shares + 1) * sizeof (copy->shares[0]));
    if (!copy->nodes || !copy->node_power || !copy->jobs || !copy->pointers || !copy->shares ||
        (view->experience && experience_copy (view->experience, &copy->experience) < 0)) {
        view_copy_free (copy);
        return NULL;
    }
    fill (copy, view);
    return copy;
}

const struct view *view_copy_view (const struct view_copy *copy)
{
    return &copy->view;
}
