/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the paper's objective, for the policies that maximise it. */
#ifndef POLICY_SPEEDUP_H
#define POLICY_SPEEDUP_H

#include "policy/job_model.h"

/* Every job's equal share of the available slots, rounded up; at least 1. */
int fair_replicas (const struct view *view);

/* Best goodput of a job with its fair share on one node.  If that has no legal batch: with the
 * smallest larger count that has one, or else with the largest smaller one; 0 if no count has.
 * Without a model the goodput is the replica count. */
double fair_goodput_on (const struct job_model *model, enum pollux_search search, int fair);

/* The same in a cluster with several types: the mean over the types, weighted by their slots, without types
 * that the job may not use and those on which no count has a legal batch; over all types if it may use none.
 * models: by pool. */
double fair_goodput (const struct job_model *models, const struct pools *pools,
                     enum pollux_search search, int fair);

/* Best goodput for k = 1..most replicas, one[k-1] on one node and many[k-1] on several, 0 where
 * no batch is legal; counts that job_allows forbids are included.  Either may be NULL.  bests is
 * scratch of 2 * most entries.  -EINVAL names a job with invalid hints. */
int job_curve (const struct job *job, const struct job_model *model, enum pollux_search search,
               int most, double *one, double *many, struct pollux_best *bests,
               struct pollux_error *err);

/* The part of its speedup that a job keeps in a round that restarts it, in [0, 1]: the share of its
 * age that it has trained, if it restarts once more. */
double restart_factor (const struct view *view, const struct job *job);

/* Added to every x, so that a job without slots makes the fitness small and not 0. */
#define FITNESS_OFFSET 0.001

/* The fitness of a plan, ( sum w (x + 0.001)^p / sum w )^(1/p), the geometric mean at p = 0 and
 * the minimum at -inf, step by step: begin with fitness_none, add the terms of all jobs, and
 * make the sum a mean.  x is a job's speedup * nodes/slots, times the restart factor if it moves.
 * Powers stay in a double's range for p >= FITNESS_LEAST_P. */
#define FITNESS_LEAST_P (-100)
double fitness_none (double p);
double fitness_term (double p, double weight, double x);
double fitness_add (double p, double sum, double term);
double fitness_mean (double p, double sum, double weights);

#endif
