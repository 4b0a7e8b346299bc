/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First in, first out: jobs run as requested, in order of submission, until they end.  A job
 * that does not fit now blocks all later ones on the types that it may use.  A job that does not even fit into the
 * empty cluster is skipped: it would block the queue for ever.
 */
#include "policy/policy_list.h"
#include "policy/pool_room.h"

/* Could the job run if it had all nodes for itself? */
static bool fits_empty (const struct pool_room *room, const struct job *job, int replicas)
{
    for (int i = 0; i < room->pools.count; i++)
        if (replicas <= room->pools.list[i].slots &&
            job_allows_type (job, room->pools.list[i].type))
            return true;
    return false;
}

/* Nothing is left of the types that the job may use: it comes first there. */
static void block (struct pool_room *room, const struct job *job)
{
    for (int i = 0; i < room->pools.count; i++)
        if (job_allows_type (job, room->pools.list[i].type))
            room->left[i] = 0;
}

static int share_out (const struct view *view, struct pool_room *room, struct priority *priorities)
{
    int count = 0;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        priority_as_requested (&priorities[i], view, 0, 0);
        if (job->placement.count > 0 && !job_pinned (job))
            pool_room_hold (room, job->placement, priorities[i].replicas);
    }
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        int replicas = priorities[i].replicas;
        if (job->placement.count == 0) {
            int pool = pool_room_find (room, job, replicas);
            if (pool < 0 && fits_empty (room, job, replicas))
                block (room, job);
            if (pool < 0)
                continue;
            room->left[pool] -= replicas;
            priorities[i].pool = pool;
        }
        priorities[count++] = priorities[i];
    }
    return count;
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "first in, first out; jobs run as requested until they end",
    .share_out = share_out,
};
