/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_PLAN_H
#define CLUSTER_PLAN_H

#include <stddef.h>

#include "model/placement.h"

/* The placements of all jobs of a view, by the job's index in the view, and the policy's values for
 * them.  All shares are in one array:
 *
 *     spans   [0: first 0 count 2] [1: first 2 count 0] [2: first 2 count 1] ...
 *     shares  |n0 x4|n3 x2|                             |n1 x1|              ...
 */
struct plan {
    struct span {
        int first, count;
    } * spans;
    double *speedups; /* by job; NaN: the policy computes none */
    int job_count, job_capacity;
    struct share *shares;
    int share_count, share_capacity;
    /* NaN: the policy has no objective.  bound: upper bound on the fitness of every plan; price:
     * increase of the bound with one more slot. */
    double fitness, bound, price;
};

/* Start a plan for job_count jobs, all without slots.  The plan is zeroed or was used before; its
 * memory is reused.  0 or -ENOMEM. */
int plan_reset (struct plan *plan, int job_count);

/* Set the placement of a job, in place of an earlier one.  0 or -ENOMEM. */
int plan_place (struct plan *plan, int job, struct placement placement);

/* The placement of a job; valid until the plan changes. */
struct placement plan_placement (const struct plan *plan, int job);

/* Free its contents, not the plan itself. */
void plan_clear (struct plan *plan);

#endif
