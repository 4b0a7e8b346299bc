/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a fit, in the order in which pollux_fit takes them:
 *
 *     samples --fit_data--> configs --fit_start--> box, starts --fit_loss, descent--> model
 */
#ifndef MODEL_FIT_H
#define MODEL_FIT_H

#include "model/descent.h"
#include "pollux/pollux.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* The model's parameters as variables of the descent.  1/gamma instead of gamma: times are more
 * nearly linear in it. */
enum { ALPHA_GRAD, BETA_GRAD, ALPHA_NODE, BETA_NODE, ALPHA_LOCAL, BETA_LOCAL, INV_GAMMA, PARAMS };
static_assert ((int)PARAMS == (int)DESCENT_DIM, "the descent has a variable per parameter");

/* Convert a model to these variables, and these variables to a model. */
static inline void fit_vector (const struct pollux_model *model, double *x)
{
    const double values[PARAMS] = {
        [ALPHA_GRAD] = model->alpha_grad,   [BETA_GRAD] = model->beta_grad,
        [ALPHA_NODE] = model->alpha_node,   [BETA_NODE] = model->beta_node,
        [ALPHA_LOCAL] = model->alpha_local, [BETA_LOCAL] = model->beta_local,
        [INV_GAMMA] = 1 / model->gamma,
    };
    for (int i = 0; i < PARAMS; i++)
        x[i] = values[i];
}

static inline struct pollux_model fit_model (const double *x)
{
    return (struct pollux_model){
        .alpha_grad = x[ALPHA_GRAD],
        .beta_grad = x[BETA_GRAD],
        .alpha_node = x[ALPHA_NODE],
        .beta_node = x[BETA_NODE],
        .alpha_local = x[ALPHA_LOCAL],
        .beta_local = x[BETA_LOCAL],
        .gamma = 1 / x[INV_GAMMA],
    };
}

/* Legal times and weights of a sample. */
#define FIT_LEAST 1e-9
#define FIT_MOST 1e9

/* ---- fit_data.c ------------------------------------------------------------------------- */

/* All samples for which every model predicts the same: m and the coefficients of
 *     T_sync = fixed_s + on x[sync] + further x[sync + 1]
 * where sync is ALPHA_LOCAL or ALPHA_NODE.  weight is their part of the total weight; the logarithms
 * are weighted means. */
struct config {
    int sync;
    double fixed_s, on, further;
    double m;
    double weight, log_grad, log_step;
};

/* What the samples cover; the rest gets priors. */
struct fit_seen {
    bool batches;     /* more than one m */
    bool local, node; /* synchronisation on one node; on many */
    bool third;       /* more than two replicas */
};

/* The samples, merged into configs. */
struct fit_data {
    struct config *configs; /* owned; sorted, independent of the order of the samples */
    size_t count;
    double grad_spread, step_spread; /* weighted variances of logarithms within the configs */
    double mean_grad_s;              /* weighted mean of grad_s over all samples */
    struct fit_seen seen;
};

struct fit_seen fit_seen (const struct pollux_sample *samples, size_t count);

/* 0, or -EINVAL with the first illegal sample, counted from 1, in err. */
int fit_check (const struct pollux_sample *samples, size_t count, struct pollux_error *err);

/* Merge legal samples.  On success the caller frees *ret with fit_data_free.  -ENOMEM. */
int fit_data_init (struct fit_data *ret, const struct pollux_sample *samples, size_t count,
                   struct pollux_error *err);
void fit_data_free (struct fit_data *data);

/* ---- fit_loss.c ------------------------------------------------------------------------- */

/* The loss with smoothed cusps: sqrt (square + smoothing^2) for each error.  The expansion is
 * Gauss-Newton's, or with `bounding` one whose curvature is an upper bound: slower near the minimum,
 * safer far from it. */
struct rounded_loss {
    const struct fit_data *data;
    double smoothing;
    bool bounding;
};

/* An expand_fn for a struct rounded_loss. */
expand_fn rounded_loss_expand;

/* The part of the loss that does not depend on samples. */
double fit_penalty (const double *x);

/* A lower bound on the loss in the box. */
double fit_floor (const struct fit_data *data, const struct box *box);

/* The loss itself and the two errors in it. */
struct fit_score {
    double loss, grad_error, step_error;
};
struct fit_score fit_score (const struct fit_data *data, const double *x);

/* ---- fit_start.c ------------------------------------------------------------------------ */

/* Bounds of the parameters; priors fix those that the samples do not determine. */
struct box fit_box (const struct fit_data *data);

/* A start from the samples, for a given gamma. */
void fit_start_guess (const struct fit_data *data, const struct box *box, double gamma, double *x);

/* The start of the published implementation. */
void fit_start_published (const struct box *box, double *x);

/* A start from an earlier model.  False: it has a NaN or an infinity. */
bool fit_start_last (const struct pollux_model *last, const struct box *box, double *x);

/* The last prior: without measurements of several nodes, their synchronisation is assumed to be a
 * little slower than on one node, so that more nodes do not look better than fewer. */
void fit_finish (const struct fit_data *data, struct pollux_model *model);

#endif
