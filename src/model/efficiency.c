/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress per sample in a large batch, relative to the user's own batch M0.
 *
 *     gain       = (var + sqr) / (var / (M/M0) + sqr)       progress of one update, in updates at M0
 *     efficiency = gain / (M/M0) = (phi + M0) / (phi + M)   phi = M0 var / sqr
 *
 * A job may limit its gain (gain_max); its efficiency is lower beyond the batch that reaches the limit.
 *
 * The formulas use sqr and var instead of phi, so that sqr = 0 is no special case.
 */
#include "model/model.h"

#include <math.h>

double pollux_noise_scale (struct pollux_grad grad, int64_t init_batch)
{
    if (init_batch < 1 || !(grad.sqr >= 0) || !(grad.var >= 0))
        return NAN;
    return (double)init_batch * grad.var / grad.sqr;
}

double pollux_gain (struct pollux_grad grad, double scale)
{
    if (!(scale > 0) || !(grad.var >= 0) || !isfinite (grad.var + grad.sqr))
        return NAN;
    double denominator = grad.var / scale + grad.sqr;
    double gain = denominator <= 0 ? 1 : (grad.var + grad.sqr) / denominator;
    return grad.gain_max > 0 && gain > grad.gain_max ? grad.gain_max : gain;
}

/* (var + sqr) / (var / c + sqr) = gain_max, solved for c = M/M0. */
double model_gain_limit_total (struct pollux_grad grad, int64_t init_batch)
{
    if (!(grad.gain_max > 0) || !(grad.var > 0))
        return INFINITY;
    double rest = (grad.var + grad.sqr) / grad.gain_max - grad.sqr;
    return rest > 0 ? (double)init_batch * fmax (grad.var / rest, 1) : INFINITY;
}

double pollux_efficiency (struct pollux_grad grad, int64_t init_batch, double total_batch)
{
    double scale = total_batch / (double)init_batch;
    if (init_batch < 1 || !(scale >= 1) || !isfinite (scale))
        return NAN;
    double efficiency = pollux_gain (grad, scale) / scale;
    return efficiency > 1 ? 1 : efficiency; /* rounding can exceed 1 by an ulp; NaN stays NaN */
}

double pollux_goodput (const struct pollux_model *model, struct pollux_grad grad,
                       int64_t init_batch, struct pollux_shape shape, struct pollux_batch batch)
{
    double total = pollux_total_batch (shape, batch);
    return pollux_throughput (model, shape, batch) * pollux_efficiency (grad, init_batch, total);
}
