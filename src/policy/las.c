/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least attained service: jobs run as requested, in ascending order of the slot-seconds that they
 * have had.  The policy uses no knowledge about the future.
 *
 * Taken literally, two jobs that compete would change places at every round, because the running
 * one soon has had more.  Therefore the slot-seconds of `slice` restart delays are subtracted for
 * a running job: a run lasts at least that long, unless a new job needs the slots, and at most
 * 1/slice of it is spent on restarting.
 */
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/priority_order.h"

static const struct policy_option las_options[] = {
    {.name = "slice",
     .min = 0,
     .max = 1e6,
     .usual = 10,
     .help = "restart delays that a run lasts before an equal job may take its slots"},
    {0},
};

static int las_rank (const struct view *view, void *memory, struct priority *priorities,
                     struct pollux_error *err)
{
    (void)memory;
    (void)err;
    double slice = policy_option_value (view, &las_options[0]);
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        double ahead_s = job->placement.count > 0
                             ? slice * view_restart_delay (view, job) * job_request (job)
                             : 0;
        priority_as_requested (&priorities[i], view, 0, job->attained_s - ahead_s);
    }
    return view->job_count;
}

const struct policy policy_las = {
    .name = "las",
    .summary = "least attained service first; jobs run as requested",
    .options = las_options,
    .rank = las_rank,
};
