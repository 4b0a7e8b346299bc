/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal shares: every job runs, as far as slots go round in order of submission, and all grow
 * together until no slot is left or nobody can use more.  Jobs tune their batches.  A job whose
 * count stays the same stays where it is; the others are placed largest first, so that those
 * that need whole nodes find them.
 */
#include <stdlib.h>

#include "policy/policies.h"
#include "policy/priority_order.h"

/* Hand out slots, level by level.  A job whose counts have gaps waits for the level of its next
 * one, so that it is never ahead of the others. */
static void share_out (const struct view *view, struct turn *turns)
{
    int left = priority_order_begin (turns, view), highest = 0;
    for (int i = 0; i < view->job_count; i++) {
        int most = job_most_replicas (view->jobs[i]);
        highest = most > highest ? most : highest;
    }
    for (int level = 2; level <= highest && left > 0; level++)
        for (int i = 0; i < view->job_count; i++) {
            const struct job *job = view->jobs[i];
            if (job_pinned (job) || turns[i].replicas == 0 || turns[i].replicas >= level)
                continue;
            int next = job_next_replicas (job, turns[i].replicas);
            int more = next - turns[i].replicas;
            if (next == level && next <= job_most_replicas (job) && more <= left) {
                turns[i].replicas = next;
                left -= more;
            }
        }
}

static int equal_share_decide (const struct view *view, void *memory, struct plan *plan,
                               struct pollux_error *err)
{
    (void)memory;
    struct turn *turns;
    int rc = priority_order_new (view, &turns, err);
    if (rc < 0)
        return rc;
    share_out (view, turns);
    for (int i = 0; i < view->job_count; i++)
        turns[i].key = -turns[i].replicas;
    rc = priority_order_serve (turns, view->job_count, view, plan, err);
    free (turns);
    return rc;
}

const struct policy policy_equal_share = {
    .name = "equal-share",
    .summary = "an equal share of the slots for every job; batches tuned to it",
    .adaptive = true,
    .elastic = true,
    .search = POLLUX_EXACT,
    .decide = equal_share_decide,
};
