/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which placement for which job, so that the sum of the jobs' values is largest: a multiple-choice
 * knapsack whose items must also fit on nodes, where at most one job that spans several nodes may
 * use any node.  Knows nothing of goodput; policies that maximise a sum bring the values.
 */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* Where a job's replicas are. */
enum where {
    WHERE_NONE, /* it does not run */
    WHERE_KEEP, /* on its current placement */
    WHERE_ONE,  /* on one node, another one or with another count */
    WHERE_MANY, /* the same on two nodes or more */
    /* Nowhere: nobody knows what so many replicas, or more of them, are worth, but no more than
     * this.  Counts for the bound, and is never given. */
    WHERE_BEYOND,
};

/* One thing that a job may be given, and what that is worth. */
struct offer {
    double value; /* finite; larger is better */
    int replicas;
    enum where where;
};

/* A job's offers, in order of replicas; the first is WHERE_NONE, with 0.  Its current placement
 * has as many replicas as its WHERE_KEEP offer, if there is one.  A pinned job has that offer and
 * no other. */
struct solver_job {
    const struct offer *offers;
    int offer_count;
    struct placement current;
};

/* What the solver says besides the plan.  No plan has a larger sum of values than bound. */
struct solver_result {
    double value, bound;
    double price; /* what the bound gains from one slot more */
};

struct solver;
int solver_new (struct solver **ret, struct pollux_error *err);
void solver_free (struct solver *solver);

/* Fill the plan, which was reset for these jobs.  On equal values: fewer running jobs that lose
 * their placement, then more jobs with slots, then fewer slots used.  work bounds the search, in
 * steps; 0: a default.  The result depends on the arguments alone; solver is memory to be used again.
 * -EINVAL if the pinned jobs do not fit. */
int solver_solve (struct solver *solver, const struct view *view, const struct solver_job *jobs,
                  int64_t work, struct plan *plan, struct solver_result *ret,
                  struct pollux_error *err);

#endif
