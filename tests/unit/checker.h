/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion on plans, written from the definition of the problem alone: it shares no code
 * with the policies but the goodput of a batch.
 */
#ifndef TESTS_CHECKER_H
#define TESTS_CHECKER_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* Is the plan one that the problem allows?  NULL, or a sentence that says what is wrong; it is
 * overwritten by the next call. */
const char *check_feasible (const struct view *view, const struct plan *plan);

/* The fitness of a plan, feasible or not. */
double check_fitness (const struct view *view, const struct plan *plan);

/* What the ties are decided by: running jobs that lose their placement, jobs with slots, slots. */
struct tally {
    int restarts, running, slots;
};
struct tally check_tally (const struct view *view, const struct plan *plan);

/* The best plan's fitness, by trying all; and among the plans with that fitness (to 1e-12) the
 * tally that goes first: fewer restarts, then more running jobs, then fewer slots. */
struct optimum {
    double fitness;
    struct tally tally;
};
struct optimum check_optimum (const struct view *view);

#endif
