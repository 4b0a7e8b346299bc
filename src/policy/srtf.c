/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortest remaining time first, with an oracle: jobs run as requested, in ascending order of the
 * remaining time at that size, and are preempted by shorter ones.  A job that does not fit is
 * skipped.  For comparison only: remaining times are known in simulations alone.
 */
#include <math.h>

#include "policy/policy_list.h"
#include "policy/priority_order.h"

/* Seconds to the end at a size; infinite where the oracle has no value. */
static double remaining_s (const struct job *job, int replicas)
{
    const struct oracle *oracle = &job->oracle;
    if (replicas < 1 || replicas > oracle->count || isnan (oracle->remaining))
        return INFINITY;
    return oracle->remaining * oracle->iter_s[replicas - 1];
}

static int srtf_rank (const struct view *view, void *memory, struct priority *priorities,
                      struct pollux_error *err)
{
    (void)memory;
    (void)err;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        priority_as_requested (&priorities[i], view, 0, remaining_s (job, job_request (job)));
    }
    return view->job_count;
}

const struct policy policy_srtf = {
    .name = "srtf",
    .summary =
        "shortest remaining time first; jobs run as requested, an oracle gives the time left",
    .oracle = true,
    .rank = srtf_rank,
};
