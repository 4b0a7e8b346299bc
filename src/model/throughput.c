/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an iteration takes, and so how many samples pass per second.
 *
 *     T_grad = alpha_grad + beta_grad m
 *     T_sync = 0 (K = 1),  alpha + beta (K-2) with the local or the node constants otherwise
 *     T_iter = s T_grad + (T_grad^gamma + T_sync^gamma)^(1/gamma)
 *
 * The published implementation keeps both T_sync at K = 1 and K-2 at K = 2 at 1e-8 instead of 0;
 * so do we, in its order of operations, to agree with it to the last bits.
 */
#include "model/model.h"

#include <math.h>

double pollux_total_batch (struct pollux_shape shape, struct pollux_batch batch)
{
    return (double)shape.replicas * (double)batch.m * ((double)batch.s + 1);
}

double pollux_grad_time (const struct pollux_model *model, int64_t m)
{
    return model->alpha_grad + model->beta_grad * (double)m;
}

double model_sync_time (const struct pollux_model *model, struct pollux_shape shape)
{
    const double tiny = 1e-8;
    if (shape.replicas == 1)
        return tiny;
    double further = fmax (shape.replicas - 2, tiny);
    if (shape.nodes == 1)
        return model->alpha_local + model->beta_local * further;
    return model->alpha_node + model->beta_node * further;
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
    if (shape.nodes < 1 || shape.replicas < shape.nodes || batch.m < 1 || batch.s < 0)
        return NAN;
    double grad_s = pollux_grad_time (model, batch.m);
    double last_s = model_overlap (grad_s, model_sync_time (model, shape), model->gamma);
    return (double)batch.s * grad_s + last_s;
}

double pollux_throughput (const struct pollux_model *model, struct pollux_shape shape,
                          struct pollux_batch batch)
{
    return pollux_total_batch (shape, batch) / pollux_iter_time (model, shape, batch);
}
