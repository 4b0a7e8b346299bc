/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimus, as published with Pollux: every job gets a slot, then slots go one by one to the job
 * whose remaining time shrinks most, until no job would gain.  Iteration times and iterations
 * still to do come from an oracle.  Batches stay as requested.
 *
 * Jobs that cannot run with every count step to the next one that they can, and gains are per
 * slot; with all counts allowed this is the published rule to the letter.
 */
#include <math.h>

#include "policy/policy_list.h"
#include "policy/pool_room.h"

/* Seconds saved per slot by going from `from` replicas to `to`; 0 where the oracle has no value. */
static double gain (const struct job *job, int from, int to)
{
    const struct oracle *oracle = &job->oracle;
    if (to > oracle->count || from < 1 || isnan (oracle->remaining))
        return 0;
    return (oracle->iter_s[from - 1] - oracle->iter_s[to - 1]) * oracle->remaining / (to - from);
}

/* The next step of a job, and in key what it gains; 0 where it cannot be made. */
static int step (const struct view *view, const struct pool_room *room, struct priority *priority)
{
    const struct job *job = view->jobs[priority->job];
    int next = priority->replicas > 0 && !job_pinned (job)
                   ? job_next_replicas (job, priority->replicas)
                   : 0;
    bool possible = next > 0 && pool_room_fits (room, job, priority, next);
    priority->key = possible ? gain (job, priority->replicas, next) : 0;
    return possible ? next : 0;
}

static void step_all (const struct view *view, const struct pool_room *room,
                      struct priority *priorities)
{
    for (int i = 0; i < view->job_count; i++)
        step (view, room, &priorities[i]);
}

/* Hand out slots one step at a time. */
static int share_out (const struct view *view, struct pool_room *room, struct priority *priorities)
{
    pool_room_begin (room, view, priorities);
    step_all (view, room, priorities);
    while (pool_room_left (room) > 0) {
        struct priority *best = NULL;
        for (int i = 0; i < view->job_count; i++)
            if (priorities[i].key > 0 && (!best || priorities[i].key > best->key))
                best = &priorities[i];
        if (!best)
            break;
        int next = step (view, room, best);
        if (next == 0)
            continue; /* it no longer fits, and its gain is 0 now */
        if (pool_room_grow (room, view->jobs[best->job], best, next) == 2)
            step_all (view, room, priorities); /* it left slots to others */
        step (view, room, best);
    }
    for (int i = 0; i < view->job_count; i++)
        priorities[i].key = priorities[i].replicas;
    return view->job_count;
}

const struct policy policy_optimus = {
    .name = "optimus",
    .summary = "slots go where remaining time shrinks most, by an oracle; batches as requested",
    .elastic = true,
    .oracle = true,
    .share_out = share_out,
};
