/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in order of precedence, for policies that serve one after the other.  Such a policy gives
 * every job a turn, says how they compare and how large they are, and leaves the rest to
 * turns_serve. */
#ifndef POLICY_PRIORITY_ORDER_H
#define POLICY_PRIORITY_ORDER_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* When a job's turn comes, and with how many replicas: the lower level first, then the smaller
 * key, then the earlier job. */
struct turn {
    int level;
    double key;
    int job;      /* index in the view */
    int replicas; /* 0: it does not run */
};

/* One turn for each job of the view, in its order, all else 0, except that jobs which may not be
 * preempted have the replicas that they have.  The caller frees them. */
int priority_order_new (const struct view *view, struct turn **ret, struct pollux_error *err);

/* For policies that decide no sizes: the job at the size that it asks for.  A job that may not be
 * preempted comes before all others (level -1) with what it has. */
void turn_as_requested (struct turn *turn, const struct view *view, int level, double key);

/* For policies that decide sizes: give every job, in order, the fewest replicas that it can run
 * with, while there are slots; and return the slots left. */
int priority_order_begin (struct turn *turns, const struct view *view);

void priority_order_sort (struct turn *turns, int count);

/* Serve the jobs in order, count of them; all others get nothing.  A job that no longer fits
 * into the slots left is passed over.  Whoever has as many replicas already stays where it is,
 * as far as its nodes are still there; then the others take slots (slots_take).  Sorts turns. */
int priority_order_serve (struct turn *turns, int count, const struct view *view, struct plan *plan,
                          struct pollux_error *err);

#endif
