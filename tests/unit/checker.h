/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks plans by the definition of the problem.  Shares no code with the policies except the
 * goodput of a batch.
 */
#ifndef TESTS_CHECKER_H
#define TESTS_CHECKER_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* NULL if the plan is feasible, otherwise a sentence that says why not, valid until the next
 * call. */
const char *check_feasible (const struct view *view, const struct plan *plan);

/* The fitness of a plan, feasible or not. */
double check_fitness (const struct view *view, const struct plan *plan);

/* Ties are broken by: running jobs that lose their placement, jobs with slots, slots used. */
struct tally {
    int restarts, running, slots;
};
struct tally check_tally (const struct view *view, const struct plan *plan);

/* The best fitness of all plans, by trying each; and of the plans with that fitness (to 1e-12) the
 * best tally: fewer restarts, then more running jobs, then fewer slots. */
struct optimum {
    double fitness;
    struct tally tally;
};
struct optimum check_optimum (const struct view *view);

#endif
