/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes by type.  With one type all of this is one count of slots.
 */
#include "policy/pool_room.h"

#include <errno.h>

#include "base/error.h"

int with_pool_room (const struct view *view, struct priority *priorities, pool_room_choose *choose,
                    struct pollux_error *err)
{
    struct pool_room room = {.arena = {0}};
    int rc = pools_make_by_type (view->nodes, view->node_count, &room.arena, &room.pools);
    size_t count = rc == 0 ? (size_t)room.pools.count : 0;
    room.left = arena_take (&room.arena, count + 1, sizeof (room.left[0]));
    room.shared = arena_take (&room.arena, count + 1, sizeof (room.shared[0]));
    room.jobs = arena_take (&room.arena, count + 1, sizeof (room.jobs[0]));
    if (rc < 0 || !room.left || !room.shared || !room.jobs) {
        arena_clear (&room.arena);
        return fail (err, -ENOMEM, "no memory for the slots of %d nodes", view->node_count);
    }
    for (size_t i = 0; i < count; i++) {
        room.left[i] = room.pools.list[i].slots;
        room.jobs[i] = 0;
    }
    for (int i = 0; i < view->job_count; i++)
        if (job_pinned (view->jobs[i]))
            pool_room_hold (&room, view->jobs[i]->placement, priorities[i].replicas);
    for (size_t i = 0; i < count; i++)
        room.shared[i] = room.left[i];
    rc = choose (view, &room, priorities);
    arena_clear (&room.arena);
    return rc;
}

int pool_room_left (const struct pool_room *room)
{
    int left = 0;
    for (int i = 0; i < room->pools.count; i++)
        left += room->left[i] > 0 ? room->left[i] : 0;
    return left;
}

void pool_room_hold (struct pool_room *room, struct placement placement, int replicas)
{
    int pool = pools_find (&room->pools, placement);
    if (pool >= 0)
        room->left[pool] -= replicas;
    for (int i = 0; pool < 0 && i < placement.count; i++)
        room->left[room->pools.of_node[placement.shares[i].node]] -= placement.shares[i].replicas;
}

int pool_room_find (const struct pool_room *room, const struct job *job, int replicas)
{
    int best = -1;
    for (int i = 0; i < room->pools.count; i++)
        if (room->left[i] >= replicas && job_allows_type (job, room->pools.list[i].type) &&
            (best < 0 || room->left[i] > room->left[best]))
            best = i;
    return best;
}

/* Is pool a better for one more job than b?  More slots per job, then fewer jobs, then the one where the job is now. */
static bool is_better (const struct pool_room *room, int a, int b, int now)
{
    int64_t share_a = (int64_t)room->shared[a] * (room->jobs[b] + 1),
            share_b = (int64_t)room->shared[b] * (room->jobs[a] + 1);
    if (share_a != share_b)
        return share_a > share_b;
    return room->jobs[a] != room->jobs[b] ? room->jobs[a] < room->jobs[b] : a == now;
}

void pool_room_begin (struct pool_room *room, const struct view *view, struct priority *priorities)
{
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        int fewest = job_next_replicas (job, 0), best = -1,
            now = pools_find (&room->pools, job->placement);
        if (priorities[i].replicas > 0 || fewest == 0 || fewest > job_most_replicas (job))
            continue;
        for (int pool = 0; pool < room->pools.count; pool++)
            if (room->left[pool] >= fewest && job_allows_type (job, room->pools.list[pool].type) &&
                (best < 0 || is_better (room, pool, best, now)))
                best = pool;
        if (best < 0)
            continue;
        priorities[i].pool = best;
        priorities[i].replicas = fewest;
        room->left[best] -= fewest;
        room->jobs[best]++;
    }
}

bool pool_room_fits (const struct pool_room *room, const struct job *job,
                     const struct priority *priority, int replicas)
{
    return replicas - priority->replicas <= room->left[priority->pool] ||
           pool_room_find (room, job, replicas) >= 0;
}

int pool_room_grow (struct pool_room *room, const struct job *job, struct priority *priority,
                    int replicas)
{
    int more = replicas - priority->replicas, from = priority->pool,
        to = more <= room->left[from] ? from : pool_room_find (room, job, replicas);
    if (to < 0)
        return 0;
    room->left[from] += priority->replicas;
    room->left[to] -= replicas;
    priority->pool = to;
    priority->replicas = replicas;
    return to == from ? 1 : 2;
}
