/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why does a job have 3 replicas?  Its goodput with other counts, what one more or one less would
 * change for it and for the other jobs, and which limits apply.  A pure function of a view, of a
 * plan for it and of the policy that decides; `pollux explain` and `pollux decide --explain` share
 * it.
 *
 * What other jobs lose and gain is measured by the policy's own values (policy.values).  For a
 * policy without an objective it is not known.
 *
 * Replicas are counted, not placed: every count is taken with its best goodput, on one node if one
 * is large enough, else on several.  The policy, which places all jobs on nodes, may do worse.
 */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/policy.h"

/* A curve of 96 points: all counts up to 64, then with growing steps up to 2^20. */
enum {
    EXPLAIN_POINTS = 96,
    EXPLAIN_OTHERS = 16,
    EXPLAIN_LIMITS = 9,
    EXPLAIN_TYPES = 8,
    EXPLAIN_SENTENCE = 256
};

/* A job with a number of replicas, at best.  NaN where there is no model. */
struct explain_point {
    int replicas;
    double goodput, speedup; /* speedup: goodput / goodput of its fair share */
    double eta_s;
    struct pollux_batch batch;
    double total_batch;
};

/* What changes for another job. */
struct explain_other {
    char name[NAME_SIZE];
    int from, to;
    double goodput; /* factor; NaN without a model or from 0 */
};

/* The next larger or smaller count. */
struct explain_change {
    bool possible;
    char why[EXPLAIN_SENTENCE]; /* it is not possible */
    struct explain_point point;
    double goodput; /* factor; NaN from 0 or without a model */
    double speedup; /* as in plan.speedups: without a model goodput is the number of replicas */
    int free;       /* of the slots that it takes: those that no job has */
    struct explain_other others[EXPLAIN_OTHERS];
    int other_count; /* of all jobs that change; others has the first EXPLAIN_OTHERS of them */
    double fitness;  /* of all jobs, afterwards; NaN: not known */
};

/* The job on nodes of another type, or on those of its own type that are taken back more often or less often, with as many replicas as it has now, or fewer if it cannot have these there. */
struct explain_type {
    char type[NAME_SIZE];
    bool known;     /* else nothing tells how fast it would be there */
    bool predicted; /* from its speed on other types */
    bool revocable; /* these nodes may be taken back */
    int replicas;
    double goodput; /* factor; what revocations leave of it */
};

struct explanation {
    const struct job *job;
    int index; /* of the job in the view */
    const char *policy;
    bool has_objective;           /* of the policy */
    bool has_model;               /* of the job */
    int fair;                     /* replicas of a fair share */
    double fitness;               /* of the plan, by the policy's objective; NaN: it has none */
    struct explain_point current; /* as planned; replicas 0: it has no slots */
    struct explain_change more, less;
    struct explain_point curve[EXPLAIN_POINTS];
    int curve_count;
    char type
        [NAME_SIZE]; /* of its nodes, if it has slots in a cluster with several types; else "" */
    bool revocable;  /* those nodes may be taken back */
    struct explain_type types[EXPLAIN_TYPES]; /* others that it may use, if it has slots */
    int type_count, more_types; /* more_types: beyond EXPLAIN_TYPES, which are not compared */
    char limits[EXPLAIN_LIMITS][EXPLAIN_SENTENCE]; /* that apply */
    int limit_count;
};

/* What the explanations of one view and plan have in common.  view and plan must outlive it.  On
 * success *ret belongs to the caller (explainer_free).  -EINVAL names a job whose hints are invalid;
 * -ENOMEM. */
struct explainer;
int explainer_new (const struct policy *policy, const struct view *view, const struct plan *plan,
                   struct explainer **ret, struct pollux_error *err);
void explainer_free (struct explainer *explainer);

/* Explain the job of that index in the view.  -EINVAL and -ENOMEM as above. */
int explain (struct explainer *explainer, int job, struct explanation *ret,
             struct pollux_error *err);

/* Explain one job as it is now: the plan is every job's placement, or the desired one of a job that
 * is about to start. */
int explain_present (const struct policy *policy, const struct view *view, int job,
                     struct explanation *ret, struct pollux_error *err);

#endif
