/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the model that are not in the public header. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "pollux/pollux.h"

#include <float.h>

/* Seconds to sum the gradients of all replicas, without overlap.  NaN if a constant that it uses is
 * negative or not finite. */
double model_sync_time (const struct pollux_model *model, struct pollux_shape shape);

/* (grad^gamma + sync^gamma)^(1/gamma): seconds of a step whose synchronisation overlaps its
 * computation.  Between max (grad, sync) and their sum for gamma >= 1. */
double model_overlap (double grad_s, double sync_s, double gamma);

/* True if a sum of two powers is a normal double: no overflow, and not so small that digits are lost.
 * Always true for fitted models; a large gamma may make it false. */
static inline bool model_keeps_digits (double sum)
{
    return sum >= DBL_MIN && sum <= DBL_MAX;
}

/* The total batch at which the gain reaches gain_max; infinite if no batch does.  A larger batch takes
 * longer and gains no more. */
double model_gain_limit_total (struct pollux_grad grad, int64_t init_batch);

/* The two searches of pollux_best_batch.  Inputs must be legal.  guess is an m near the best one, or
 * 0: a good guess saves time; the result does not depend on it. */
struct pollux_best search_exact (const struct pollux_model *model, struct pollux_grad grad,
                                 const struct pollux_limits *limits, struct pollux_shape shape,
                                 int64_t guess);
struct pollux_best search_reference (const struct pollux_model *model, struct pollux_grad grad,
                                     const struct pollux_limits *limits, struct pollux_shape shape);

/* An upper bound on the goodput of a range of replicas, as a function of the total batch M:
 *
 *     ceiling(M) = M (v + q M0) / ((v + q M) (c + d M))
 *
 * It is never below the goodput of any of these numbers of replicas with a batch M, by either search,
 * and close to it around M = touch.  `bound` is its maximum. */
struct model_ceiling {
    double v, q, m0; /* M0 var and sqr, scaled alike; M0 */
    double c, d;     /* seconds, and seconds per sample */
    double touch, bound;
};

/* The upper bound for low..high replicas on one node, or on several (nodes = 2).  It is tight if low
 * and high are close.  guess is a first guess of the best total batch.  Inputs must be legal. */
struct model_ceiling model_ceiling (const struct pollux_model *model, struct pollux_grad grad,
                                    const struct pollux_limits *limits, int nodes, int low,
                                    int high, double guess);

/* Its maximum: no number of replicas in low..high has more goodput. */
double model_goodput_bound (const struct pollux_model *model, struct pollux_grad grad,
                            const struct pollux_limits *limits, int nodes, int low, int high,
                            double guess);

/* True if a is better than b: more goodput, or the same with a smaller total batch. */
static inline bool best_precedes (const struct pollux_best *a, const struct pollux_best *b)
{
    if (a->goodput != b->goodput)
        return a->goodput > b->goodput;
    return a->batch.m * (a->batch.s + 1) < b->batch.m * (b->batch.s + 1);
}

#endif
