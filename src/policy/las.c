/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least attained service: jobs run as requested, those that have had the fewest slot-seconds
 * before the others.  Nothing about the future is known or guessed.
 *
 * Taken literally, two jobs that compete would change places at every round, since whoever runs
 * has soon had more.  So a running job counts as if it had had the slot-seconds of SLICE restart
 * delays less: a run lasts at least that long, unless a newcomer needs its slots, and at most
 * one part in SLICE of it goes into restarting.
 */
#include <stdlib.h>

#include "policy/policies.h"
#include "policy/priority_order.h"

static const double SLICE = 10;

static int las_decide (const struct view *view, void *memory, struct plan *plan,
                       struct pollux_error *err)
{
    (void)memory;
    struct turn *turns;
    int rc = priority_order_new (view, &turns, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        double ahead_s = job->placement.count > 0
                             ? SLICE * view_restart_delay (view, job) * job_request (job)
                             : 0;
        turn_as_requested (&turns[i], view, 0, job->attained_s - ahead_s);
    }
    rc = priority_order_serve (turns, view->job_count, view, plan, err);
    free (turns);
    return rc;
}

const struct policy policy_las = {
    .name = "las",
    .summary = "least attained service first; jobs run as requested",
    .decide = las_decide,
};
