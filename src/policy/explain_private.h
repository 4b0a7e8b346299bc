/* SPDX-License-Identifier: Apache-2.0 */
/* What explain.c and explain_change.c share. */
#ifndef POLICY_EXPLAIN_PRIVATE_H
#define POLICY_EXPLAIN_PRIVATE_H

#include "policy/explain.h"
#include "policy/job_model.h"

/* A job with some replica count. */
struct explain_state {
    int replicas;
    double goodput; /* the number of replicas without a model; 0 without slots */
    /* The next smaller count and what the sum of terms loses per slot given up; not known yet while
     * step_to is negative. */
    int step_to;
    double step_loss;
};

struct explainer {
    const struct policy *policy;
    const struct view *view;
    const struct plan *plan;
    void *prepared; /* of policy->values; NULL if there are none */
    struct arena arena;
    struct pools pools;
    struct type_ratios ratios;
    int *free;    /* by pool: slots */
    int *pool_of; /* by job: the pool that it runs in, or the best one for it */
    int fair;
    double fair_goodput;           /* of the job that is being explained: with its fair share */
    struct explain_state *planned; /* by job: as in the plan */
    struct explain_state *changed; /* by job: after the change that is being looked at */
    struct job_value *planned_values, *changed_values; /* of them, by job */
};

/* The best batch of a job on a shape of its pool, and with that many replicas on as few nodes as they need.
 * Without a model goodput is the number of replicas.  -EINVAL. */
int explain_best_on (const struct explainer *explainer, int index, struct pollux_shape shape,
                     struct pollux_best *ret, struct pollux_error *err);
struct pollux_shape explain_shape (const struct explainer *explainer, int index, int replicas);
int explain_best_with (const struct explainer *explainer, int index, int replicas,
                       struct pollux_best *ret, struct pollux_error *err);

/* The value of a job with a goodput on a shape of its pool, of which revocations leave a part.  Only if the policy has
 * values. */
struct job_value explain_value (const struct explainer *explainer, int index,
                                struct pollux_shape shape, double goodput, bool moves);

struct explain_point explain_point_of (const struct explainer *explainer, int index, int replicas,
                                       struct pollux_best best);

/* How many replicas a job may have on its type now, and why. */
struct explain_trust {
    int profiled; /* the most that it was measured with, on any type; -1: unknown, which sets no limit */
    int trusted; /* its model holds for these */
    int most;    /* of these, that its batch limits feed */
};
struct explain_trust explain_trust_of (const struct explainer *explainer, int index);

/* The next larger and the next smaller count. */
int explain_more (struct explainer *explainer, int index, struct explain_change *ret,
                  struct pollux_error *err);
int explain_less (struct explainer *explainer, int index, struct explain_change *ret,
                  struct pollux_error *err);

/* "s" behind a noun, unless there is one of them. */
const char *explain_plural (int count);

#endif
