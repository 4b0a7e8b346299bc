/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocation problem: give each job one of its options so that the sum of the options' values
 * is largest.  It is a multiple-choice knapsack whose items must also fit on nodes, and at most one
 * job on several nodes may use each node.  Nodes that are alike form a pool; an option uses nodes of
 * one pool.  The values come from the caller; the solver knows neither goodput nor names nor time.
 */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include <stdint.h>

#include "model/placement.h"

/* Where an option puts a job's replicas. */
enum where {
    WHERE_NONE,   /* on no node: the job does not run */
    WHERE_KEEP,   /* on its current placement */
    WHERE_ONE,    /* on one node: another one, or with another number of replicas */
    WHERE_MANY,   /* on two nodes or more, other than its current placement */
    WHERE_BEYOND, /* Upper bound for replica counts that were not evaluated; never assigned. */
};

/* One thing that a job may be given.  The value of WHERE_BEYOND bounds this number of replicas and
 * the larger ones that were not evaluated. */
struct solver_option {
    double value; /* finite; larger is better */
    int replicas;
    int pool; /* of its nodes; WHERE_NONE: 0 */
    enum where where;
};

/* A job's options; the first is WHERE_NONE with 0 replicas, the others are sorted by pool, then by
 * rising replicas.  The WHERE_KEEP option, if there is one, has the replicas and the pool of the
 * current placement.  WHERE_ONE has at most the slots of the pool's largest node, WHERE_MANY and
 * WHERE_BEYOND at most the slots of the pool.  A pinned job has WHERE_KEEP and no other option. */
struct solver_job {
    const struct solver_option *options;
    int option_count;
    struct placement current;
};

/* Jobs, nodes and pools are known by their index alone. */
struct solver_problem {
    const int *slots; /* by node; 0: no job may use the node */
    const int *pools; /* by node, each < pool_count */
    int node_count, pool_count;
    const struct solver_job *jobs;
    int job_count;
    uint64_t seed;
    int64_t work; /* most steps of the search; 0: the default */
};

/* A plan, and an upper bound: no plan has a larger sum of values. */
struct solver_result {
    const struct placement *placements; /* by job; borrowed until the solver is used again */
    double value, bound;
    const double *prices; /* by pool: increase of the bound by one more slot; borrowed, too */
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
