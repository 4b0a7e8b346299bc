/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal shares: every job gets its fewest replicas, in order of submission while there are slots,
 * on the type with most slots per job; then all jobs grow together until no slot is left or no job can use more.  Jobs tune their
 * batches.  A job whose count is unchanged keeps its placement; the others are placed largest
 * first, so that jobs which need whole nodes find them.
 */
#include "policy/policy_list.h"
#include "policy/pool_room.h"

/* Raise the replica count of all jobs level by level.  A job that cannot run with every count
 * grows when the level reaches its next one, so that it never has more than the others.  A job whose type is full may
 * change to another one, and leaves its slots to those that did not fit before. */
static int share_out (const struct view *view, struct pool_room *room, struct priority *priorities)
{
    int highest = 0;
    pool_room_begin (room, view, priorities);
    for (int i = 0; i < view->job_count; i++) {
        int most = job_most_replicas (view->jobs[i]);
        highest = most > highest ? most : highest;
    }
    for (int level = 2; level <= highest && pool_room_left (room) > 0; level++)
        for (int i = 0; i < view->job_count; i++) {
            const struct job *job = view->jobs[i];
            if (job_pinned (job) || priorities[i].replicas == 0 || priorities[i].replicas >= level)
                continue;
            int next = job_next_replicas (job, priorities[i].replicas);
            if (next > 0 && next <= level && next <= job_most_replicas (job))
                pool_room_grow (room, job, &priorities[i], next);
        }
    for (int i = 0; i < view->job_count; i++)
        priorities[i].key = -priorities[i].replicas;
    return view->job_count;
}

const struct policy policy_equal_share = {
    .name = "equal-share",
    .summary = "an equal share of the slots for every job; batches tuned to it",
    .adaptive = true,
    .elastic = true,
    .search = POLLUX_EXACT,
    .share_out = share_out,
};
