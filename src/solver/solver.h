/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which placement for which job, so that the sum of the jobs' values is largest: a multiple-option
 * knapsack whose items must also fit on nodes, where at most one job that spans several nodes may
 * use any node.  Knows nothing of goodput; policies that maximise a sum bring the values.
 */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include <stdint.h>

#include "model/placement.h"

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
struct solver_option {
    double value; /* finite; larger is better */
    int replicas;
    enum where where;
};

/* A job's options, in order of replicas; the first is WHERE_NONE, with 0.  Its current placement
 * has as many replicas as its WHERE_KEEP option, if there is one.  A pinned job has that option and
 * no other. */
struct solver_job {
    const struct solver_option *options;
    int option_count;
    struct placement current;
};

/* An allocation problem.  Jobs and nodes are known by their index alone.  All nodes form one pool:
 * an option may use any of them. */
struct solver_problem {
    const int *slots; /* by node; 0: no job may use the node */
    int node_count;
    const struct solver_job *jobs;
    int job_count;
    uint64_t seed;
    int64_t work; /* most steps of the search; 0: the default */
};

/* A plan, and an upper bound: no plan has a larger sum of values. */
struct solver_result {
    const struct placement *placements; /* by job; borrowed until the solver is used again */
    double value, bound;
    double price; /* increase of the bound by one more slot */
};

/* A pinned job that does not fit: it has more replicas on the node than the pinned jobs before it
 * leave free. */
struct solver_conflict {
    int job, node;
    int replicas, free;
};

struct solver;
int solver_new (struct solver **ret, struct pollux_error *err);
void solver_free (struct solver *solver);

/* Find a plan.  On equal values: fewer running jobs that lose their placement, then more jobs with
 * slots, then fewer slots used.  The result depends on the problem alone; the solver only holds
 * memory.  -EINVAL: the pinned jobs do not fit; *conflict is the first that does not, and the
 * caller, which knows the names, writes err.  -E2BIG, -ENOMEM: see err. */
int solver_solve (struct solver *solver, const struct solver_problem *problem,
                  struct solver_result *ret, struct solver_conflict *conflict,
                  struct pollux_error *err);

#endif
