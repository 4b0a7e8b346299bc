/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the model share besides the public header. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "pollux/pollux.h"

#include <float.h>

/* Seconds to sum the gradients of all replicas, nothing overlapped.  NaN if the constants that it
 * needs are no times. */
double model_sync_time (const struct pollux_model *model, struct pollux_shape shape);

/* (grad^gamma + sync^gamma)^(1/gamma): seconds of a step whose synchronisation overlaps its
 * computation.  Between max (grad, sync) and their sum for gamma >= 1. */
double model_overlap (double grad_s, double sync_s, double gamma);

/* Whether a sum of two powers kept its digits: neither overflow, nor so near zero that doubles
 * have fewer of them.  Fitted models are always within; a large gamma may leave. */
static inline bool model_keeps_digits (double sum)
{
    return sum >= DBL_MIN && sum <= DBL_MAX;
}

/* The two searches behind pollux_best_batch.  Their inputs are legal: the caller checked.
 * guess is an m that may be near the best one, 0 for none: it saves time and changes nothing. */
struct pollux_best search_exact (const struct pollux_model *model, struct pollux_grad grad,
                                 const struct pollux_limits *limits, struct pollux_shape shape,
                                 int64_t guess);
struct pollux_best search_reference (const struct pollux_model *model, struct pollux_grad grad,
                                     const struct pollux_limits *limits, struct pollux_shape shape);

/* A bound on best goodput over a range of replicas: on one node, or on several (nodes 2), none of
 * low..high replicas has more, with either search.  It is tightest if low and high are close, and
 * if guess is near the best total batch there.  Inputs are legal: the caller checked. */
double model_goodput_bound (const struct pollux_model *model, struct pollux_grad grad,
                            const struct pollux_limits *limits, int nodes, int low, int high,
                            double guess);

/* Is a better than b?  More goodput, or as much with a smaller total batch. */
static inline bool best_precedes (const struct pollux_best *a, const struct pollux_best *b)
{
    if (a->goodput != b->goodput)
        return a->goodput > b->goodput;
    return a->batch.m * (a->batch.s + 1) < b->batch.m * (b->batch.s + 1);
}

#endif
