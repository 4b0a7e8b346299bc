/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's objective as a sum.  For a fixed p the fitness is a monotone function of a sum over
 * jobs, one term each, so that whoever maximises the sum maximises the fitness.
 */
#ifndef POLICY_OBJECTIVE_H
#define POLICY_OBJECTIVE_H

#include "cluster/plan.h"
#include "policy/allocation_options.h"
#include "solver/solver.h"

/* Added to every x: a job without slots is bad, not infinitely so. */
#define OBJECTIVE_OFFSET 0.001

struct objective {
    struct allocation_options *options;
    struct solver_job *jobs; /* for the solver */
    int count;
    double per_speedup; /* x = speedup x per_speedup, x restart where it moves */
    double scale;       /* values are of (x + offset) / scale */
    struct arena *arena;
};

/* All jobs' outlooks, from their hints, with every count of replicas.  -EINVAL names a job whose
 * hints are nonsense. */
int objective_make (const struct view *view, struct arena *arena, struct objective *ret,
                    struct pollux_error *err);

/* The same with a few counts and bounds for the others, which objective_refine should follow. */
int objective_make_sampled (const struct view *view, struct arena *arena, struct objective *ret,
                            struct pollux_error *err);

/* Fill in the values for a finite p: terms of the sum, with x relative to `scale`. */
void objective_value (struct objective *objective, const struct view *view, double scale);

/* Look at the counts that matter at a price: those that might be worth, less the price of their
 * slots, within slack of the job's best.  Values are up to date afterwards.  -ENOMEM. */
int objective_refine (struct objective *objective, const struct view *view, double price,
                      double slack);

/* Maximise the sum of the values that are filled in.  Resets the plan, then writes placements and
 * speedups; x, unless it is NULL, receives every job's x.  -EINVAL names a pinned job that does
 * not fit. */
int objective_solve (const struct objective *objective, const struct view *view,
                     struct solver *solver, struct plan *plan, double *x, struct solver_result *ret,
                     struct pollux_error *err);

/* The fitness that belongs to a sum of values. */
double objective_fitness (const struct view *view, double scale, double sum);

/* How fast the fitness rises with the sum, at that sum. */
double objective_slope (const struct view *view, double fitness, double sum);

/* The fitness of a plan with that x for every job, whatever p. */
double objective_mean (const struct view *view, const double *x);

/* Fill in the values 0 for x that reach a threshold, and -1. */
void objective_threshold (const struct objective *objective, double threshold);

/* x of a job's option. */
double objective_x (const struct objective *objective, int job, int option);

/* The option that a placement of the job is. */
int objective_option (const struct objective *objective, int job, struct placement placement);

#endif
