/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions in order of priority, for policies that serve one job after the other.  Such a policy
 * has one function, rank or share_out, that gives every job its priority and its size; decide_in_order does
 * the rest. */
#ifndef POLICY_PRIORITY_ORDER_H
#define POLICY_PRIORITY_ORDER_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* Jobs that stay are served first; then the lower level, the smaller key, the earlier job. */
struct priority {
    bool stays; /* it may not be preempted and its nodes are available; decide_in_order sets it */
    int level;
    double key;
    int job;      /* index in the view */
    int replicas; /* 0: it does not run */
    int pool;     /* where, of the pools of the view's nodes; -1: the one with most slots left */
};

/* Rank all jobs by the policy and place them in that order.
 *
 * rank and share_out get one priority for each job of the view, in the view's order, all 0 except `stays`, pool -1
 * and that jobs which may not be preempted have the replicas that they have.  They return how many priorities,
 * from the first on, are to be served, or a negative error; all other jobs get no slots.
 *
 * A job that does not fit into the slots left is skipped.  A job whose replica count (and pool, if
 * one is given) does not change keeps its placement as far as its nodes are available; the others then take slots
 * (free_slots_take). */
struct policy;
int decide_in_order (const struct policy *policy, const struct view *view, void *memory,
                     struct plan *plan, struct pollux_error *err);

/* For policies that decide no sizes: the job at its requested size.  A job that may not be
 * preempted comes before all others (level -1) with what it has. */
void priority_as_requested (struct priority *priority, const struct view *view, int level,
                            double key);

void priority_order_sort (struct priority *priorities, int count);

#endif
