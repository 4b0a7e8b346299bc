/* SPDX-License-Identifier: Apache-2.0 */
/* A decision with its explanations, as a table and as JSON. */
#ifndef CLI_DECIDE_H
#define CLI_DECIDE_H

#include <jansson.h>
#include <stdio.h>

#include "policy/explain.h"

/* A problem, decided. */
struct decision {
    const struct view *view;
    const struct policy *policy;
    struct plan plan;
    struct pollux_best *batches; /* by job; all 0 without slots or model */
    double seconds;              /* of the decision, by the real clock */
};

/* Decide, and find the batches of the placements.  decision_clear frees. */
int decision_make (const struct view *view, const struct policy *policy, struct decision *ret,
                   struct pollux_error *err);
void decision_clear (struct decision *decision);

/* (bound - fitness) / bound; NaN if there is no bound. */
double decide_gap (double fitness, double bound);

/* As a table, with `count` explanations. */
int decide_print (const struct decision *decision, const struct explanation *explanations,
                  int count, FILE *out, struct pollux_error *err);

/* As JSON; the caller owns it (json_decref).  NULL: not enough memory. */
json_t *decide_encode (const struct decision *decision, const struct explanation *explanations,
                       int count);

#endif
