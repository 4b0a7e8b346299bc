/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round that only fills free slots: the policy decides on a subview, made of the slots that are
 * neither in use nor planned for a job, for the jobs that have no slots and none planned.
 */
#include <errno.h>

#include "base/error.h"
#include "policy/informed_view.h"
#include "policy/policy.h"
#include "policy/subview.h"

/* Whether the job has no slots and none planned. */
static bool waits (const struct view *view, const struct job *job)
{
    (void)view;
    return job->placement.count == 0 && job->desired.count == 0;
}

/* Decide on the subview, and add the result to the placements that stand. */
static int fill (const struct policy *policy, const struct view *view,
                 const struct subview *subview, struct plan *plan, struct pollux_error *err)
{
    struct memory memory = {0};
    struct plan filled = {0};
    int rc = memory_new (policy, &memory, err);
    if (rc == 0)
        rc = decide (policy, &subview->view, &memory, &filled, err);
    if (rc == 0 && plan_reset (plan, view->job_count) < 0)
        rc = -ENOMEM;
    for (int i = 0; rc == 0 && i < view->job_count; i++)
        rc = plan_place (plan, i, view->jobs[i]->desired);
    for (int i = 0; rc == 0 && i < subview->view.job_count; i++)
        rc = plan_place (plan, subview->indices[i], plan_placement (&filled, i));
    memory_clear (&memory);
    plan_clear (&filled);
    return rc == -ENOMEM ? fail (err, rc, "no memory for a plan of %d jobs", view->job_count) : rc;
}

int decide_fill (const struct policy *policy, const struct view *view, struct plan *plan,
                 struct pollux_error *err)
{
    struct informed_view informed = {0};
    struct subview subview = {0};
    int rc = informed_view_new (view, &informed);
    if (rc == 0)
        rc = subview_new (&informed.view, waits, &subview);
    rc = rc < 0 ? fail (err, rc, "no memory for a plan of %d jobs", view->job_count)
                : fill (policy, &informed.view, &subview, plan, err);
    subview_clear (&subview);
    informed_view_clear (&informed);
    return rc;
}
