/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's objective as a sum over jobs.  For a fixed p the fitness is a monotone function of the
 * sum, so that the plan with the largest sum has the largest fitness.
 */
#ifndef POLICY_OBJECTIVE_H
#define POLICY_OBJECTIVE_H

#include "cluster/plan.h"
#include "policy/allocation_options.h"
#include "solver/solver.h"

struct objective {
    struct allocation_options *options;
    struct solver_job *jobs; /* the same for the solver */
    int count;
    struct pools pools;
    int *slots; /* by pool: those that pinned jobs leave */
    /* x = speedup * what revocations leave * per_speedup, times the restart factor if the job moves */
    double per_speedup;
    double scale; /* values are computed from (x + offset) / scale */
    struct arena *arena;
};

/* The options of all jobs, with every replica count, in the arena's memory.  -EINVAL names a job
 * with invalid hints; -ENOMEM. */
int objective_make (const struct view *view, struct arena *arena, struct objective *ret,
                    struct pollux_error *err);

/* The same with some replica counts, and upper bounds for the others: call objective_refine. */
int objective_make_sampled (const struct view *view, struct arena *arena, struct objective *ret,
                            struct pollux_error *err);

/* Fill in the values for a finite p: terms of the sum, with x + offset divided by scale. */
void objective_value (struct objective *objective, const struct view *view, double scale);

/* Evaluate more replica counts: those whose bound, minus the price of their slots, is within `slack`
 * slots of the job's best option.  prices: by pool.  Fills in their values, too.  -ENOMEM. */
int objective_refine (struct objective *objective, const struct view *view, const double *prices,
                      double slack);

/* The largest price of a slot; prices: by pool. */
double objective_price (const struct objective *objective, const double *prices);

/* Maximise the sum of the values.  Resets the plan, then writes placements and
 * speedups; x, unless it is NULL, receives every job's x.  -EINVAL names a pinned job that does
 * not fit. */
int objective_solve (const struct objective *objective, const struct view *view,
                     struct solver *solver, struct plan *plan, double *x, struct solver_result *ret,
                     struct pollux_error *err);

/* The fitness of a plan with that sum of values. */
double objective_fitness (const struct view *view, double scale, double sum);

/* Derivative of the fitness by the sum. */
double objective_slope (const struct view *view, double fitness, double sum);

/* The fitness of a plan from every job's x, for any p. */
double objective_mean (const struct view *view, const double *x);

/* Fill in the values: 0 if x reaches the threshold, otherwise -1. */
void objective_threshold (const struct objective *objective, double threshold);

/* x of a job's option. */
double objective_x (const struct objective *objective, int job, int option);

/* The index of the option for a placement of the job; -1: there is none. */
int objective_option (const struct objective *objective, int job, struct placement placement);

#endif
