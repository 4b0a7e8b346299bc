/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortest remaining time first, with an oracle: jobs run as requested, those that would end
 * soonest at that size before the others, and are preempted by shorter ones.  A job that does
 * not fit lets smaller ones pass.  The best that can be done for the mean completion time
 * without changing sizes, and out of reach: nobody knows remaining times.
 */
#include <math.h>
#include <stdlib.h>

#include "policy/policies.h"
#include "policy/priority_order.h"

/* Seconds to the end at a size; infinite where the oracle is silent. */
static double remaining_s (const struct job *job, int replicas)
{
    const struct oracle *oracle = &job->oracle;
    if (replicas < 1 || replicas > oracle->count || isnan (oracle->remaining))
        return INFINITY;
    return oracle->remaining * oracle->iter_s[replicas - 1];
}

static int srtf_decide (const struct view *view, void *memory, struct plan *plan,
                        struct pollux_error *err)
{
    (void)memory;
    struct turn *turns;
    int rc = priority_order_new (view, &turns, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        turn_as_requested (&turns[i], view, 0, remaining_s (job, job_request (job)));
    }
    rc = priority_order_serve (turns, view->job_count, view, plan, err);
    free (turns);
    return rc;
}

const struct policy policy_srtf = {
    .name = "srtf",
    .summary = "shortest remaining time first; jobs run as requested, an oracle knows their ends",
    .oracle = true,
    .decide = srtf_decide,
};
