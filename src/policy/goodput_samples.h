/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's best goodput as a function of its replicas: evaluated at some counts, with an upper bound
 * for the others.  On thousands of slots a decision needs few points of each curve.
 */
#ifndef POLICY_GOODPUT_SAMPLES_H
#define POLICY_GOODPUT_SAMPLES_H

#include "base/arena.h"
#include "policy/job_model.h"

/* An evaluated replica count, and a bound for the counts between it and the next sample. */
struct goodput_sample {
    int replicas;
    double goodput; /* 0 where no batch is legal */
    double total;   /* M of its best batch, in samples; 0 without a model */
    double bound;   /* upper bound of the goodput up to the next sample; 0: no counts between */
};

/* The samples by rising replicas. */
struct goodput_samples {
    const struct job *job;
    const struct job_model *model; /* on the type of the nodes; borrowed */
    enum pollux_search search;
    int nodes; /* 1, or 2: several */
    struct goodput_sample *samples;
    int count, capacity;
};

/* Evaluate allowed replica counts from least to most: all up to dense, then powers of two, the
 * last one, and `also` if it is in the range; all of them if they are few.  No allowed count: no
 * samples.  -EINVAL if the job's hints are invalid, -ENOMEM. */
int goodput_samples_make (const struct job *job, const struct job_model *model,
                          enum pollux_search search, int nodes, int least, int most, int dense,
                          int also, struct arena *arena, struct goodput_samples *ret,
                          struct pollux_error *err);

/* Evaluate the middle between sample i and the next.  -ENOMEM. */
int goodput_samples_split (struct goodput_samples *curve, int i, struct arena *arena);

/* Goodput at one shape, without a curve; -EINVAL as above. */
int goodput_samples_at (const struct job *job, const struct job_model *model,
                        enum pollux_search search, struct pollux_shape shape, double *ret,
                        struct pollux_error *err);

#endif
