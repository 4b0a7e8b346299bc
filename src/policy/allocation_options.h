/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a job for the solver, with the speedup of each. */
#ifndef POLICY_ALLOCATION_OPTIONS_H
#define POLICY_ALLOCATION_OPTIONS_H

#include "cluster/pools.h"
#include "cluster/view.h"
#include "policy/goodput_samples.h"
#include "solver/solver.h"

/* What the options of all jobs of a view depend on. */
struct options_context {
    const struct view *view;
    struct pools pools;
    struct type_ratios ratios;
    int fair; /* replicas of a fair share */
    bool all; /* evaluate every replica count; otherwise some, with bounds for the others */
};

/* The pools are in the arena's memory.  -ENOMEM. */
int options_context_make (const struct view *view, bool all, struct arena *arena,
                          struct options_context *ret);

/* A job's goodput in a pool. */
struct pool_curves {
    struct goodput_samples one, many; /* on one node, on several */
};

/* A job's goodput curves, and the options that follow from them, in the order of struct solver_job. */
struct allocation_options {
    struct pool_curves *curves; /* by pool */
    struct job_model *models;   /* by pool */
    const struct pool *pools;
    int pool_count;
    double delay_s;           /* that a restart costs it */
    double fair;              /* goodput of its fair share; 0: it cannot run */
    double restart;           /* restart_factor: part of the speedup left after a restart */
    struct pollux_shape keep; /* of the current placement; {0, 0}: it cannot be kept */
    int keep_pool;
    bool pinned;
    struct solver_option *list; /* the caller fills in the values */
    double *speedups;           /* by option: goodput / goodput of the fair share */
    double *kept;               /* by option: the part of it that revocations leave */
    int count, capacity;
};

/* Evaluate a job's goodput and list its options, in the arena's memory.  -EINVAL names a job with
 * invalid hints; -ENOMEM. */
int allocation_options_make (const struct options_context *context, const struct job *job,
                             struct arena *arena, struct allocation_options *ret,
                             struct pollux_error *err);

/* The part of the goodput that revocations leave a job on a shape of a pool. */
double allocation_options_kept (const struct allocation_options *options, int pool,
                                struct pollux_shape shape);

/* List the options again after a curve has got new samples.  -ENOMEM. */
int allocation_options_list (struct allocation_options *options, struct arena *arena);

#endif
