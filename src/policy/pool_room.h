/* SPDX-License-Identifier: Apache-2.0 */
/* The slots that are left of each type while a policy decides sizes: a job runs on nodes of one type, so the slots of
 * different types do not add up. */
#ifndef POLICY_POOL_ROOM_H
#define POLICY_POOL_ROOM_H

#include "cluster/pools.h"
#include "cluster/view.h"
#include "policy/priority_order.h"

struct pool_room {
    struct arena arena;
    struct pools pools;
    int *left;   /* slots, by pool; negative where nodes have gone */
    int *shared; /* slots for jobs that share a pool, by pool */
    int *jobs;   /* that share a pool, by pool */
};

/* Call choose with all slots of the available nodes, without those of jobs that may not be preempted, whose priorities have
 * their replicas.  Returns its result, or -ENOMEM. */
typedef int pool_room_choose (const struct view *view, struct pool_room *room,
                              struct priority *priorities);
int with_pool_room (const struct view *view, struct priority *priorities, pool_room_choose *choose,
                    struct pollux_error *err);

/* The slots left of all types. */
int pool_room_left (const struct pool_room *room);

/* Take slots for a job where it is; on nodes of several types, from each. */
void pool_room_hold (struct pool_room *room, struct placement placement, int replicas);

/* The pool with most slots left of those that the job may use; -1: none has enough. */
int pool_room_find (const struct pool_room *room, const struct job *job, int replicas);

/* For policies that decide sizes: give every job, in order, the fewest replicas that it can run with, while there are
 * slots, in the pool that has most slots per job. */
void pool_room_begin (struct pool_room *room, const struct view *view, struct priority *priorities);

/* Can the job have that many replicas, more than it has now, in its pool or in another one? */
bool pool_room_fits (const struct pool_room *room, const struct job *job,
                     const struct priority *priority, int replicas);

/* Give the job that many, if it can: in its pool, or else in another one, which frees its slots in the old one.
 * 0: it cannot; 1: it has; 2: it changed its pool. */
int pool_room_grow (struct pool_room *room, const struct job *job, struct priority *priority,
                    int replicas);

#endif
