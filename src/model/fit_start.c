/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds, priors and starting points of a fit.
 *
 * The priors make a job explore: a cost that no sample shows is assumed to be almost 0, so that more
 * replicas, or a second node, look good until they were tried.
 */
#include "model/fit.h"

#include <math.h>
#include <string.h>

/* The smallest alpha and beta in seconds; also the value of the priors. */
static const double nothing_s = 1e-8;

/* The largest alpha and beta: alone it predicts ten times the longest legal time, so no better fit
 * lies above.  It keeps every intermediate result finite. */
static const double most_s = 10 * FIT_MOST;

static const double most_gamma = 10;

static void fix (struct box *box, int param, double value)
{
    box->lower[param] = box->upper[param] = value;
}

struct box fit_box (const struct fit_data *data)
{
    struct box box;
    for (int i = 0; i < PARAMS; i++) {
        box.lower[i] = i == INV_GAMMA ? 1 / most_gamma : nothing_s;
        box.upper[i] = i == INV_GAMMA ? 1 : most_s;
    }
    /* One m cannot separate alpha_grad and beta_grad: each gets half of the time. */
    if (!data->seen.batches)
        fix (&box, ALPHA_GRAD, data->mean_grad_s / 2);
    if (!data->seen.node)
        fix (&box, ALPHA_NODE, nothing_s);
    if (!data->seen.local)
        fix (&box, ALPHA_LOCAL, nothing_s);
    if (!data->seen.node || !data->seen.third)
        fix (&box, BETA_NODE, nothing_s);
    if (!data->seen.local || !data->seen.third)
        fix (&box, BETA_LOCAL, nothing_s);
    return box;
}

static double clamp (double value, double least, double most)
{
    return fmin (fmax (value, least), most);
}

static void enter (const struct box *box, double *x)
{
    for (int i = 0; i < PARAMS; i++)
        x[i] = clamp (x[i], box->lower[i], box->upper[i]);
}

/* Weighted sums over points (z, y). */
struct points {
    double weight, z, zz, y, zy;
};

static void points_add (struct points *points, double weight, double z, double y)
{
    points->weight += weight;
    points->z += weight * z;
    points->zz += weight * z * z;
    points->y += weight * y;
    points->zy += weight * z * y;
}

/* The least-squares line y = a + b z, for the parameters a = x[alpha] and b = x[alpha + 1] within
 * their bounds.  a is at least `share` of the mean of y. */
static void points_line (const struct points *p, const struct box *box, int alpha, double share,
                         double *x)
{
    const double *lower = &box->lower[alpha], *upper = &box->upper[alpha];
    double mean = p->weight > 0 ? p->y / p->weight : 0;
    double spread = p->weight * p->zz - p->z * p->z;
    double b = 0;
    if (spread > 1e-12 * p->weight * p->zz)
        b = (p->weight * p->zy - p->z * p->y) / spread;
    b = clamp (b, lower[1], upper[1]);
    double a = p->weight > 0 ? (p->y - b * p->z) / p->weight : 0;
    double least = clamp (share * mean, lower[0], upper[0]);
    if (a < least || a > upper[0]) {
        a = clamp (a, least, upper[0]);
        b = p->zz > 0 ? clamp ((p->zy - a * p->z) / p->zz, lower[1], upper[1]) : lower[1];
    }
    x[alpha] = a;
    x[alpha + 1] = b;
}

void fit_start_guess (const struct fit_data *data, const struct box *box, double gamma, double *x)
{
    struct points grad = {0}, node = {0}, local = {0};
    for (size_t i = 0; i < data->count; i++) {
        const struct config *c = &data->configs[i];
        double grad_s = exp (c->log_grad), step_s = exp (c->log_step);
        points_add (&grad, c->weight / (grad_s * grad_s), c->m, grad_s);
        if (c->on == 0)
            continue;
        /* T_sync = (T_step^gamma - T_grad^gamma)^(1/gamma), or a tiny value if noise makes it negative. */
        double rest = -expm1 (gamma * (c->log_grad - c->log_step));
        double sync_s = step_s * pow (fmax (rest, 1e-3), 1 / gamma);
        points_add (c->sync == ALPHA_NODE ? &node : &local, c->weight / (step_s * step_s),
                    c->further, sync_s);
    }
    points_line (&grad, box, ALPHA_GRAD, 0, x);
    /* The loss penalises a beta far above its alpha. */
    points_line (&node, box, ALPHA_NODE, 0.1, x);
    points_line (&local, box, ALPHA_LOCAL, 0.1, x);
    x[INV_GAMMA] = 1 / gamma;
}

void fit_start_published (const struct box *box, double *x)
{
    static const double start[PARAMS] = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1 / 1.001};
    memcpy (x, start, sizeof (start));
    enter (box, x);
}

bool fit_start_last (const struct pollux_model *last, const struct box *box, double *x)
{
    fit_vector (last, x);
    for (int i = 0; i < PARAMS; i++)
        if (!isfinite (x[i]))
            return false;
    enter (box, x);
    return true;
}

void fit_finish (const struct fit_data *data, struct pollux_model *model)
{
    if (data->seen.node)
        return;
    model->alpha_node = fmax (model->alpha_node, 1.1 * model->alpha_local);
    model->beta_node = fmax (model->beta_node, 1.1 * model->beta_local);
}
