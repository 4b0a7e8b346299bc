/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal shares: every job gets its fewest replicas, in order of submission while there are slots;
 * then all jobs grow together until no slot is left or no job can use more.  Jobs tune their
 * batches.  A job whose count is unchanged keeps its placement; the others are placed largest
 * first, so that jobs which need whole nodes find them.
 */
#include "policy/policy_list.h"
#include "policy/priority_order.h"

/* Raise the replica count of all jobs level by level.  A job that cannot run with every count
 * grows when the level reaches its next one, so that it never has more than the others. */
static void share_out (const struct view *view, struct priority *priorities)
{
    int left = priority_order_begin (priorities, view), highest = 0;
    for (int i = 0; i < view->job_count; i++) {
        int most = job_most_replicas (view->jobs[i]);
        highest = most > highest ? most : highest;
    }
    for (int level = 2; level <= highest && left > 0; level++)
        for (int i = 0; i < view->job_count; i++) {
            const struct job *job = view->jobs[i];
            if (job_pinned (job) || priorities[i].replicas == 0 || priorities[i].replicas >= level)
                continue;
            int next = job_next_replicas (job, priorities[i].replicas);
            int more = next - priorities[i].replicas;
            if (next == level && next <= job_most_replicas (job) && more <= left) {
                priorities[i].replicas = next;
                left -= more;
            }
        }
}

static int equal_share_rank (const struct view *view, void *memory, struct priority *priorities,
                             struct pollux_error *err)
{
    (void)memory;
    (void)err;
    share_out (view, priorities);
    for (int i = 0; i < view->job_count; i++) {
        priorities[i].key = -priorities[i].replicas;
        priorities[i].shrinks = true;
    }
    return view->job_count;
}

const struct policy policy_equal_share = {
    .name = "equal-share",
    .summary = "an equal share of the slots for every job; batches tuned to it",
    .adaptive = true,
    .elastic = true,
    .search = POLLUX_EXACT,
    .rank = equal_share_rank,
};
