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

/* A ceiling over the goodput of a range of replicas, as a function of the total batch M:
 *
 *     ceiling(M) = M (v + q M0) / ((v + q M) (c + d M))
 *
 * It is nowhere below what any of the counts reaches with a batch M, by either search, and near it
 * around M = touch; `bound` is its maximum. */
struct model_ceiling {
    double v, q, m0; /* M0 var and sqr, scaled alike; M0 */
    double c, d;     /* seconds, and seconds per sample */
    double touch, bound;
};

/* The ceiling of low..high replicas on one node, or on several (nodes 2).  It is lowest if low and
 * high are close; guess is where to look for the best total batch first.  Inputs are legal: the
 * caller checked. */
struct model_ceiling model_ceiling (const struct pollux_model *model, struct pollux_grad grad,
                                    const struct pollux_limits *limits, int nodes, int low,
                                    int high, double guess);

/* Its maximum: none of low..high replicas has more goodput. */
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
