/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small functions of a view that many policies use.
 */
#include "cluster/view.h"

#include <math.h>

int64_t view_now_us (const struct view *view)
{
    return llround (view->now_s * 1e6);
}

int view_slots (const struct view *view)
{
    int slots = 0;
    for (int i = 0; i < view->node_count; i++)
        slots += view->nodes[i].available ? view->nodes[i].slots : 0;
    return slots;
}

bool view_is_available (const struct view *view, struct placement placement)
{
    for (int i = 0; i < placement.count; i++)
        if (!view->nodes[placement.shares[i].node].available)
            return false;
    return placement.count > 0;
}

bool view_is_fixed (const struct view *view, const struct job *job)
{
    return job_pinned (job) && view_is_available (view, job->placement);
}

int view_nodes (const struct view *view)
{
    int nodes = 0;
    for (int i = 0; i < view->node_count; i++)
        nodes += view->nodes[i].available;
    return nodes;
}

double view_restart_delay (const struct view *view, const struct job *job)
{
    if (!isnan (job->spec.restart_delay_s))
        return job->spec.restart_delay_s;
    return job->delay_s > 0 ? job->delay_s : view->restart_delay_s;
}
