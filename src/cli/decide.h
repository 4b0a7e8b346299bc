/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of pollux decide share: a decision, its explanations, and their two forms. */
#ifndef CLI_DECIDE_H
#define CLI_DECIDE_H

#include <jansson.h>
#include <stdio.h>

#include "policy/policy.h"

/* A problem, decided. */
struct decision {
    const struct view *view;
    const struct policy *policy;
    struct plan plan;
    struct pollux_best *batches; /* by job; all 0 without slots or model */
    double seconds;              /* the policy's, on the wall */
};

/* Decide, and find the batches of the placements.  decision_clear frees. */
int decision_make (const struct view *view, const struct policy *policy, struct decision *ret,
                   struct pollux_error *err);
void decision_clear (struct decision *decision);

/* What would be if a job had other replicas: the whole problem decided again under that
 * condition. */
struct what_if {
    bool possible; /* false: there is no such count for it, or no plan was found that has it */
    int replicas;
    double speedup, fitness, bound;
};

/* A job with one step more and one fewer than in the plan: GPUs, or the nearest allowed counts. */
struct explanation {
    int job;
    struct what_if more, fewer;
};

/* Explain one job. */
int explain_job (const struct decision *decision, int job, struct explanation *ret,
                 struct pollux_error *err);

/* (bound - fitness) / bound; NaN if there is no bound. */
double decide_gap (double fitness, double bound);

/* For people. */
int decide_print (const struct decision *decision, const struct explanation *explanations,
                  int count, FILE *out, struct pollux_error *err);

/* For programs; NULL: not enough memory, otherwise the caller's. */
json_t *decide_encode (const struct decision *decision, const struct explanation *explanations,
                       int count);

#endif
