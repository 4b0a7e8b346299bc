/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch search of the published implementation, for comparison with its results: 50 total
 * batches in geometric progression from max (M0, lo K) to Mmax, each split over the replicas
 * with as few accumulation steps as fit.  Rounding m up may carry M a little past Mmax; a split
 * whose m leaves [lo, hi] does not count.
 */
#include "model/model.h"

#include <math.h>

enum { SAMPLES = 50 };

/* The split of `local` samples per replica; m may come out of the limits. */
static struct pollux_batch split (const struct pollux_limits *limits, int replicas, double local)
{
    const double tolerance = 1e-8;
    double s = 0;
    if (limits->accumulation) {
        /* Not below 0, also where max_local is so large that only the tolerance is left. */
        s = fmax (ceil (local / (double)limits->max_local - tolerance) - 1, 0);
        /* One sample of gradient noise needs two micro-batches. */
        if (replicas == 1 && local > (double)limits->init_batch + tolerance)
            s = fmax (s, 1);
    }
    double m = ceil (local / (s + 1) - tolerance);
    return (struct pollux_batch){.m = (int64_t)m, .s = (int64_t)s};
}

struct pollux_best search_reference (const struct pollux_model *model, struct pollux_grad grad,
                                     const struct pollux_limits *limits, struct pollux_shape shape)
{
    struct pollux_best best = {0};
    double first = fmax ((double)limits->init_batch, (double)limits->min_local * shape.replicas);
    double last = (double)limits->max_batch;
    double log_first = log10 (first);
    double log_step = (log10 (last) - log_first) / (SAMPLES - 1);

    for (int i = 0; i < SAMPLES; i++) {
        double total = i == 0             ? first
                       : i == SAMPLES - 1 ? last
                                          : pow (10, i * log_step + log_first);
        struct pollux_best option = {.batch =
                                         split (limits, shape.replicas, total / shape.replicas)};
        if (option.batch.m < limits->min_local || option.batch.m > limits->max_local)
            continue;
        option.goodput = pollux_goodput (model, grad, limits->init_batch, shape, option.batch);
        if (option.goodput > 0 && best_precedes (&option, &best))
            best = option;
    }
    return best;
}
