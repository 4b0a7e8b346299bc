/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First in, first out: jobs run as requested, in order of submission, until they end.  A job
 * that does not fit now blocks all later ones.  A job that does not even fit into the empty
 * cluster is skipped: it would block the queue for ever.
 */
#include "policy/policy_list.h"
#include "policy/priority_order.h"

static int fifo_rank (const struct view *view, void *memory, struct priority *priorities,
                      struct pollux_error *err)
{
    (void)memory;
    (void)err;
    int slots = view_slots (view), left = slots, count = 0;
    for (int i = 0; i < view->job_count; i++) {
        priority_as_requested (&priorities[i], view, 0, 0);
        if (view->jobs[i]->placement.count > 0)
            left -= priorities[i].replicas;
    }
    bool blocked = false;
    for (int i = 0; i < view->job_count; i++) {
        int replicas = priorities[i].replicas;
        if (view->jobs[i]->placement.count == 0) {
            if (replicas > slots)
                continue;
            blocked |= replicas > left;
            if (blocked)
                continue;
            left -= replicas;
        }
        priorities[count++] = priorities[i];
    }
    return count;
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "first in, first out; jobs run as requested until they end",
    .rank = fifo_rank,
};
