/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's best goodput as a function of its replicas, known where somebody looked, and bounded
 * everywhere else.  A cluster of thousands of GPUs asks for a few points of each curve only.
 */
#ifndef POLICY_GOODPUT_SAMPLES_H
#define POLICY_GOODPUT_SAMPLES_H

#include "base/arena.h"
#include "cluster/job.h"

/* A count that was looked at, and what the counts between it and the next one can reach. */
struct goodput_sample {
    int replicas;
    double goodput; /* 0 where no batch is legal */
    double total;   /* its best batch in all, in samples */
    double bound;   /* goodput of the counts up to the next sample; 0 if there are none */
};

/* The samples in order of replicas. */
struct goodput_samples {
    const struct job *job;
    enum pollux_search search;
    int nodes; /* 1, or 2: several */
    struct goodput_sample *samples;
    int count, capacity;
};

/* Begin with some samples of least..most replicas, where the job may have them: all up to dense,
 * then a few, and `also`, if it is among them.  Where that would leave out only a few, none is left
 * out.  Nothing to look at: no samples.  -EINVAL if the job's hints are nonsense, -ENOMEM. */
int goodput_samples_make (const struct job *job, enum pollux_search search, int nodes, int least,
                          int most, int dense, int also, struct arena *arena,
                          struct goodput_samples *ret, struct pollux_error *err);

/* Look once more, in the middle between sample i and the next.  -ENOMEM. */
int goodput_samples_split (struct goodput_samples *curve, int i, struct arena *arena);

/* Goodput with so many replicas, all by itself; -EINVAL as above. */
int goodput_samples_at (const struct job *job, enum pollux_search search, struct pollux_shape shape,
                        double *ret, struct pollux_error *err);

#endif
