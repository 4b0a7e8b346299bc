/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why does my job have 3 replicas?  Its goodput with other counts, what one more or one less would
 * change for it and for the others, and which limits hold it.  A pure function of a view.
 *
 * Placements are counted, not packed: every count is taken at its best, on one node if one is
 * large enough, else on several.  The policy, which has to fit all jobs on nodes, may do worse.
 */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "cluster/view.h"

/* A curve of 96 points: all counts up to 64, then ever fewer, up to 2^20. */
enum { EXPLAIN_POINTS = 96, EXPLAIN_OTHERS = 16, EXPLAIN_LIMITS = 8, EXPLAIN_SENTENCE = 256 };

/* A job with so many replicas, at best.  NaN where there is no model. */
struct explain_point {
    int replicas;
    double goodput, speedup; /* speedup: times as fast as with its fair share */
    double eta_s;
    struct pollux_batch batch;
    double total_batch;
};

/* What would happen to another job. */
struct explain_other {
    char name[NAME_SIZE];
    int from, to;
    double goodput; /* as a factor of what it has; NaN without a model or from 0 */
};

/* The next larger or smaller count. */
struct explain_change {
    bool possible;
    char why[EXPLAIN_SENTENCE]; /* not */
    struct explain_point point;
    double goodput; /* factor; NaN from 0 or without a model */
    int free;       /* of the slots that it takes: those that nobody has to give */
    struct explain_other others[EXPLAIN_OTHERS];
    int other_count; /* of them, at most EXPLAIN_OTHERS are there */
    double fitness;  /* of all jobs, afterwards; NaN: not known */
};

struct explanation {
    const struct job *job;
    bool has_model;
    int fair;                     /* replicas of a fair share */
    double fitness;               /* of all jobs as they are, by the paper's objective */
    struct explain_point current; /* replicas 0: has none */
    struct explain_change more, less;
    struct explain_point curve[EXPLAIN_POINTS];
    int curve_count;
    char limits[EXPLAIN_LIMITS][EXPLAIN_SENTENCE]; /* that bind */
    int limit_count;
};

/* The job of an index of the view.  -EINVAL if some job's hints are nonsense, -ENOMEM. */
int explain (const struct view *view, int job, struct explanation *ret, struct pollux_error *err);

/* "s" behind a noun, unless there is one of them. */
const char *plural (int count);

#endif
