/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss of a fit, and its expansion with analytic gradients.
 *
 *     loss = |e_grad| + |e_step| + 1e-3 (gamma-1)^2
 *          + 1e-2 ((beta_node/alpha_node)^2 + (beta_local/alpha_local)^2)
 *
 * where e are errors of logarithms and |e| = sqrt (sum w e^2); the weights sum to one.  A norm has a
 * cusp where all its errors are 0, which happens with few or exact samples.  Therefore the smoothed
 * norm c = sqrt (|e|^2 + smoothing^2) is used; J are the derivatives of e:
 *
 *     gradient  J'e / c
 *     hessian   J'J / c - (J'e)(J'e)' / c^3     Gauss-Newton: e taken as linear
 *               J'J / c                         its upper bound: sqrt (y) lies below its tangent
 *
 * Both are convex.  Everything is computed from logarithms, because T^gamma of a legal time can be
 * so large or small that a sum of two powers loses one of them.
 */
#include "model/fit.h"

#include <math.h>
#include <string.h>

static const double gamma_penalty = 1e-3;
static const double ratio_penalty = 1e-2;

/* A model's prediction for one config. */
struct prediction {
    double grad_s, sync_s;
    double log_grad, log_step;
    double grad_share, sync_share; /* d log_step / d log grad_s, and / d log sync_s: sum 1 */
    double log_step_inv_gamma;     /* d log_step / d (1/gamma) */
};

/* T_step = (T_grad^g + T_sync^g)^(1/g), with the larger time taken out of the sum. */
static struct prediction predict (const struct config *c, const double *x)
{
    struct prediction p;
    double gamma = 1 / x[INV_GAMMA];
    p.grad_s = x[ALPHA_GRAD] + x[BETA_GRAD] * c->m;
    p.sync_s = c->fixed_s + c->on * x[c->sync] + c->further * x[c->sync + 1];
    p.log_grad = log (p.grad_s);
    double log_sync = log (p.sync_s);
    double apart = log_sync - p.log_grad;
    double power = exp (-gamma * fabs (apart)); /* (smaller / larger)^gamma */
    double larger_share = 1 / (1 + power);
    double excess = log1p (power) / gamma;
    p.log_step = fmax (p.log_grad, log_sync) + excess;
    p.grad_share = apart > 0 ? power * larger_share : larger_share;
    p.sync_share = apart > 0 ? larger_share : power * larger_share;
    p.log_step_inv_gamma = (power * larger_share * fabs (apart) + excess) * gamma;
    return p;
}

/* One of the two norms: |e|^2, J'e and J'J. */
struct norm {
    double square;
    double pull[PARAMS];
    double bend[PARAMS][PARAMS];
};

/* Add an error that depends on `count` parameters, in ascending order. */
static void norm_add (struct norm *norm, double weight, double error, const int *ids,
                      const double *slopes, int count)
{
    norm->square += weight * error * error;
    for (int i = 0; i < count; i++) {
        double weighted = weight * slopes[i];
        norm->pull[ids[i]] += weighted * error;
        for (int j = 0; j <= i; j++)
            norm->bend[ids[i]][ids[j]] += weighted * slopes[j];
    }
}

static void expand_norm (const struct norm *norm, const struct rounded_loss *loss,
                         struct expansion *ret)
{
    double c = sqrt (norm->square + loss->smoothing * loss->smoothing);
    double cube = loss->bounding ? 0 : 1 / (c * c * c);
    ret->value += c;
    for (int i = 0; i < PARAMS; i++) {
        ret->gradient[i] += norm->pull[i] / c;
        ret->scale[i] += norm->bend[i][i];
        for (int j = 0; j <= i; j++)
            ret->hessian[i][j] += norm->bend[i][j] / c - cube * norm->pull[i] * norm->pull[j];
    }
}

double fit_penalty (const double *x)
{
    double over = 1 / x[INV_GAMMA] - 1;
    double node = x[BETA_NODE] / x[ALPHA_NODE], local = x[BETA_LOCAL] / x[ALPHA_LOCAL];
    return gamma_penalty * over * over + ratio_penalty * (node * node + local * local);
}

/* The penalties are squares; Gauss-Newton expansion. */
static void expand_penalty (const double *x, struct expansion *ret)
{
    ret->value += fit_penalty (x);
    double gamma = 1 / x[INV_GAMMA], by_inverse = -gamma * gamma;
    ret->gradient[INV_GAMMA] += 2 * gamma_penalty * (gamma - 1) * by_inverse;
    ret->hessian[INV_GAMMA][INV_GAMMA] += 2 * gamma_penalty * by_inverse * by_inverse;
    ret->scale[INV_GAMMA] += gamma_penalty * by_inverse * by_inverse;
    static const int alphas[] = {ALPHA_NODE, ALPHA_LOCAL};
    for (int i = 0; i < 2; i++) {
        int alpha = alphas[i], beta = alpha + 1;
        double ratio = x[beta] / x[alpha];
        double by_alpha = -ratio / x[alpha], by_beta = 1 / x[alpha];
        ret->gradient[alpha] += 2 * ratio_penalty * ratio * by_alpha;
        ret->gradient[beta] += 2 * ratio_penalty * ratio * by_beta;
        ret->hessian[alpha][alpha] += 2 * ratio_penalty * by_alpha * by_alpha;
        ret->hessian[beta][alpha] += 2 * ratio_penalty * by_beta * by_alpha;
        ret->hessian[beta][beta] += 2 * ratio_penalty * by_beta * by_beta;
        ret->scale[alpha] += ratio_penalty * by_alpha * by_alpha;
        ret->scale[beta] += ratio_penalty * by_beta * by_beta;
    }
}

void rounded_loss_expand (const void *context, const double *x, struct expansion *ret)
{
    const struct rounded_loss *loss = context;
    const struct fit_data *data = loss->data;
    struct norm grad = {.square = data->grad_spread}, step = {.square = data->step_spread};
    for (size_t i = 0; i < data->count; i++) {
        const struct config *c = &data->configs[i];
        struct prediction p = predict (c, x);
        double by_grad = 1 / p.grad_s;
        double step_by_grad = p.grad_share / p.grad_s, step_by_sync = p.sync_share / p.sync_s;
        norm_add (&grad, c->weight, p.log_grad - c->log_grad, (int[]){ALPHA_GRAD, BETA_GRAD},
                  (double[]){by_grad, by_grad * c->m}, 2);
        norm_add (&step, c->weight, p.log_step - c->log_step,
                  (int[]){ALPHA_GRAD, BETA_GRAD, c->sync, c->sync + 1, INV_GAMMA},
                  (double[]){step_by_grad, step_by_grad * c->m, step_by_sync * c->on,
                             step_by_sync * c->further, p.log_step_inv_gamma},
                  5);
    }
    memset (ret, 0, sizeof (*ret));
    expand_norm (&grad, loss, ret);
    expand_norm (&step, loss, ret);
    expand_penalty (x, ret);
}

struct fit_score fit_score (const struct fit_data *data, const double *x)
{
    double grad = data->grad_spread, step = data->step_spread;
    for (size_t i = 0; i < data->count; i++) {
        const struct config *c = &data->configs[i];
        struct prediction p = predict (c, x);
        double grad_off = p.log_grad - c->log_grad, step_off = p.log_step - c->log_step;
        grad += c->weight * grad_off * grad_off;
        step += c->weight * step_off * step_off;
    }
    return (struct fit_score){sqrt (grad) + sqrt (step) + fit_penalty (x), sqrt (grad),
                              sqrt (step)};
}

double fit_floor (const struct fit_data *data, const struct box *box)
{
    /* The corner of the box with the smallest penalties: betas low, alphas high, gamma 1. */
    const double corner[PARAMS] = {
        [ALPHA_NODE] = box->upper[ALPHA_NODE],   [BETA_NODE] = box->lower[BETA_NODE],
        [ALPHA_LOCAL] = box->upper[ALPHA_LOCAL], [BETA_LOCAL] = box->lower[BETA_LOCAL],
        [INV_GAMMA] = box->upper[INV_GAMMA],
    };
    return sqrt (data->grad_spread) + sqrt (data->step_spread) + fit_penalty (corner);
}
