/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_PLAN_H
#define CLUSTER_PLAN_H

#include <stddef.h>

#include "model/placement.h"

/* The placements of all jobs of a view, by their index there, and what the policy can say of
 * them.  All shares lie in one array:
 *
 *     spans   [0: first 0 count 2] [1: first 2 count 0] [2: first 2 count 1] ...
 *     shares  |n0 x4|n3 x2|                             |n1 x1|              ...
 */
struct plan {
    struct span {
        int first, count;
    } * spans;
    double *speedups; /* by job; NaN where the policy computes none */
    int job_count, job_capacity;
    struct share *shares;
    int share_count, share_capacity;
    /* Of a policy with an objective; NaN otherwise.  No plan's fitness exceeds bound; price is
     * what the bound would gain from one slot more. */
    double fitness, bound, price;
};

/* Begin a plan for so many jobs, all of them without slots.  plan is zero or was used before,
 * whose memory is used again.  0 or -ENOMEM. */
int plan_reset (struct plan *plan, int job_count);

/* Give a job its shares; again replaces.  0 or -ENOMEM. */
int plan_place (struct plan *plan, int job, struct placement placement);

/* A job's placement, borrowed until the plan changes. */
struct placement plan_placement (const struct plan *plan, int job);

/* Free what it holds, not the plan itself. */
void plan_clear (struct plan *plan);

#endif
