/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First in, first out: jobs run as requested, in order of submission, until they end.  A job
 * that does not fit now holds back all after it; one that would not even fit into the empty
 * cluster is passed over, or nobody would ever run again.
 */
#include <stdlib.h>

#include "policy/policies.h"
#include "policy/priority_order.h"

static int fifo_decide (const struct view *view, void *memory, struct plan *plan,
                        struct pollux_error *err)
{
    (void)memory;
    struct turn *turns;
    int rc = priority_order_new (view, &turns, err);
    if (rc < 0)
        return rc;
    int slots = view_slots (view), left = slots, count = 0;
    for (int i = 0; i < view->job_count; i++) {
        turn_as_requested (&turns[i], view, 0, 0);
        if (view->jobs[i]->placement.count > 0)
            left -= turns[i].replicas;
    }
    bool held_back = false;
    for (int i = 0; i < view->job_count; i++) {
        int replicas = turns[i].replicas;
        if (view->jobs[i]->placement.count == 0) {
            if (replicas > slots)
                continue;
            held_back |= replicas > left;
            if (held_back)
                continue;
            left -= replicas;
        }
        turns[count++] = turns[i];
    }
    rc = priority_order_serve (turns, count, view, plan, err);
    free (turns);
    return rc;
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "first in, first out; jobs run as requested until they end",
    .decide = fifo_decide,
};
