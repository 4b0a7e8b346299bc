/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First in, first out: jobs run as requested, in order of submission, until they end.  A job
 * that does not fit holds back all after it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/policies.h"
#include "policy/slots.h"

static int fifo_decide (const struct view *view, void *memory, struct plan *plan,
                        struct pollux_error *err)
{
    (void)memory;
    struct slots slots;
    int rc = slots_new (view, &slots, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < view->job_count && rc == 0; i++)
        if (view->jobs[i]->placement.count > 0)
            rc = slots_keep (&slots, view, i, plan, err);
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        const struct job *job = view->jobs[i];
        if (job->placement.count > 0)
            continue;
        if (job->spec.fixed_replicas > slots.free_count)
            break;
        rc = slots_take (&slots, i, job->spec.fixed_replicas, plan, err);
    }
    slots_clear (&slots);
    return rc;
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "first in, first out; jobs run as requested until they end",
    .decide = fifo_decide,
};
