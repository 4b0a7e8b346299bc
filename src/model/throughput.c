/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of an iteration, and the throughput.
 *
 *     T_grad = alpha_grad + beta_grad m
 *     T_sync = 0 (K = 1),  alpha + beta (K-2) with the local or the node constants otherwise
 *     T_iter = s T_grad + (T_grad^gamma + T_sync^gamma)^(1/gamma)
 *
 * The published implementation uses 1e-8 instead of 0, for T_sync at K = 1 and for K-2 at K = 2.  This
 * code does the same, in the same order of operations, so that results agree to the last bits.
 */
#include "model/model.h"

#include <math.h>

double pollux_total_batch (struct pollux_shape shape, struct pollux_batch batch)
{
    if (shape.replicas < 1 || batch.m < 0 || batch.s < 0)
        return NAN;
    return (double)shape.replicas * (double)batch.m * ((double)batch.s + 1);
}

/* alpha + beta x; NaN if a constant is negative or the result is not finite. */
static double linear_s (double alpha, double beta, double x)
{
    double time_s = alpha + beta * x;
    return alpha >= 0 && beta >= 0 && isfinite (time_s) ? time_s : NAN;
}

double pollux_grad_time (const struct pollux_model *model, int64_t m)
{
    double grad_s = linear_s (model->alpha_grad, model->beta_grad, (double)m);
    return m >= 1 && grad_s > 0 ? grad_s : NAN;
}

double model_sync_time (const struct pollux_model *model, struct pollux_shape shape)
{
    const double tiny = 1e-8;
    if (shape.replicas == 1)
        return tiny;
    double further = fmax (shape.replicas - 2, tiny);
    if (shape.nodes == 1)
        return linear_s (model->alpha_local, model->beta_local, further);
    return linear_s (model->alpha_node, model->beta_node, further);
}

double model_overlap (double grad_s, double sync_s, double gamma)
{
    if (gamma == 1)
        return grad_s + sync_s;
    double sum = pow (grad_s, gamma) + pow (sync_s, gamma);
    if (model_keeps_digits (sum))
        return pow (sum, 1 / gamma);
    /* Factor the larger time out first. */
    double large = fmax (grad_s, sync_s), small = fmin (grad_s, sync_s);
    return large > 0 ? large * pow (1 + pow (small / large, gamma), 1 / gamma) : large;
}

double pollux_iter_time (const struct pollux_model *model, struct pollux_shape shape,
                         struct pollux_batch batch)
{
    if (shape.nodes < 1 || shape.replicas < shape.nodes || batch.s < 0 || !(model->gamma >= 1))
        return NAN;
    double grad_s = pollux_grad_time (model, batch.m), sync_s = model_sync_time (model, shape);
    if (isnan (grad_s) || isnan (sync_s)) /* fmax would ignore NaN */
        return NAN;
    return (double)batch.s * grad_s + model_overlap (grad_s, sync_s, model->gamma);
}

double pollux_throughput (const struct pollux_model *model, struct pollux_shape shape,
                          struct pollux_batch batch)
{
    return pollux_total_batch (shape, batch) / pollux_iter_time (model, shape, batch);
}
