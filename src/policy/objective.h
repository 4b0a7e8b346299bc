/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's objective as a sum.  For a fixed p the fitness is a monotone function of a sum over
 * jobs, one term each, so that whoever maximises the sum maximises the fitness.
 */
#ifndef POLICY_OBJECTIVE_H
#define POLICY_OBJECTIVE_H

#include "base/arena.h"
#include "policy/solver.h"

/* Added to every x: a job without slots is bad, not infinitely so. */
#define OBJECTIVE_OFFSET 0.001

/* What a job could have: offers for the solver, and how many times as fast as with its fair share
 * it trains with each of them. */
struct outlook {
    struct offer *offers; /* values to be filled in */
    double *speedups;
    int count;
    double fair;    /* goodput that speedups are relative to; of no unit without a model */
    double restart; /* what it keeps of the speedup if it moves */
};

struct objective {
    struct outlook *outlooks;
    struct solver_job *jobs; /* for the solver, once values are filled in */
    int count;
    double per_speedup; /* x = speedup x per_speedup, x restart where it moves */
};

/* All jobs' outlooks, from their hints.  -EINVAL names a job whose hints are nonsense. */
int objective_make (const struct view *view, struct arena *arena, struct objective *ret,
                    struct pollux_error *err);

/* Fill in the values for a finite p: terms of the sum, with x relative to `scale`. */
void objective_value (const struct objective *objective, const struct view *view, double scale);

/* The fitness that belongs to a sum of values. */
double objective_fitness (const struct view *view, double scale, double sum);

/* How fast the fitness rises with the sum, at that sum. */
double objective_slope (const struct view *view, double fitness, double sum);

/* The fitness of a plan with that x for every job, whatever p. */
double objective_mean (const struct view *view, const double *x);

/* Fill in the values 0 for x that reach a threshold, and -1. */
void objective_threshold (const struct objective *objective, double threshold);

/* x of a job's offer. */
double objective_x (const struct objective *objective, int job, int offer);

/* The offer that a placement of the job is. */
int objective_offer (const struct objective *objective, int job, struct placement placement);

#endif
