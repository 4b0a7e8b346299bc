/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a profile of an application.  The hard part is its noise: a table of epochs x batches
 * becomes a few knots, the same for all batches, with geometric interpolation between them.
 *
 * What matters of the noise r is the gain that it gives a larger batch, log ((1 + r) / (1 + r/S))
 * for the largest one, S M0.  That hardly changes where r is far below 1 or far above S, so errors
 * of log r are weighted with its derivative.  For given knots the best values are then a linear
 * least-squares problem with hat functions as a basis, so that its matrix is tridiagonal.  Knots
 * are chosen one by one, each time the epoch that leaves the least error, until it is small.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/app.h"
#include "sim/profile.h"

/* Knots end at this root mean square error of the gain's logarithm (2 %), or at this number. */
static const double good_error = 0.02;
enum { KNOTS_ENOUGH = 10 };
/* Noise is limited to 1e-3 to 100 S: beyond, the gain differs by less than 1 %.  (It is
 * infinite where sqr = 0.) */
static const double least_noise = 1e-3, most_noise = 100;
/* The least weight of an epoch: above 0, so that the knots are determined. */
static const double least_weight = 0.05;

struct curves {
    int epochs, batches;
    struct point {
        double log, weight;
    } * points; /* batches x epochs */
};

struct knots {
    int at[KNOTS_ENOUGH]; /* epochs, ascending */
    int count;
};

/* The knot at or before an epoch, and how far it is to the next. */
static int knot_before (const struct knots *knots, int epoch, double *ret_share)
{
    int i = 0;
    while (i + 2 < knots->count && knots->at[i + 1] <= epoch)
        i++;
    if (knots->count == 1)
        *ret_share = 0;
    else
        *ret_share = (double)(epoch - knots->at[i]) / (knots->at[i + 1] - knots->at[i]);
    return i;
}

/* Values at the knots that fit one curve best; returns the sum of squared errors.
 *     sum over epochs of w^2 ((1-x) v[i] + x v[i+1] - y)^2 -> min,  i and x by epoch */
static double fit_curve (const struct knots *knots, const struct point *points, int epochs,
                         double values[KNOTS_ENOUGH])
{
    double diagonal[KNOTS_ENOUGH] = {0}, upper[KNOTS_ENOUGH] = {0}, right[KNOTS_ENOUGH] = {0};
    int n = knots->count;
    for (int e = 0; e < epochs; e++) {
        double x, weight = points[e].weight * points[e].weight;
        int i = knot_before (knots, e, &x);
        diagonal[i] += weight * (1 - x) * (1 - x);
        right[i] += weight * (1 - x) * points[e].log;
        if (n > 1) {
            diagonal[i + 1] += weight * x * x;
            upper[i] += weight * x * (1 - x);
            right[i + 1] += weight * x * points[e].log;
        }
    }
    for (int i = 1; i < n; i++) { /* elimination; every knot is an epoch, so no diagonal is 0 */
        double factor = upper[i - 1] / diagonal[i - 1];
        diagonal[i] -= factor * upper[i - 1];
        right[i] -= factor * right[i - 1];
    }
    for (int i = n - 1; i >= 0; i--)
        values[i] = (right[i] - (i + 1 < n ? upper[i] * values[i + 1] : 0)) / diagonal[i];

    double error = 0;
    for (int e = 0; e < epochs; e++) {
        double x;
        int i = knot_before (knots, e, &x);
        double off = (1 - x) * values[i] + (n > 1 ? x * values[i + 1] : 0) - points[e].log;
        error += points[e].weight * points[e].weight * off * off;
    }
    return error;
}

static double fit_curves (const struct knots *knots, const struct curves *curves)
{
    double error = 0, values[KNOTS_ENOUGH];
    for (int b = 0; b < curves->batches; b++)
        error += fit_curve (knots, curves->points + (size_t)b * (size_t)curves->epochs,
                            curves->epochs, values);
    return error;
}

static struct knots with_knot (const struct knots *knots, int epoch)
{
    struct knots more = *knots;
    int i = more.count++;
    for (; i > 0 && more.at[i - 1] > epoch; i--)
        more.at[i] = more.at[i - 1];
    more.at[i] = epoch;
    return more;
}

static bool has_knot (const struct knots *knots, int epoch)
{
    for (int i = 0; i < knots->count; i++)
        if (knots->at[i] == epoch)
            return true;
    return false;
}

static struct knots choose_knots (const struct curves *curves)
{
    struct knots knots = {.at = {0, curves->epochs - 1}, .count = curves->epochs > 1 ? 2 : 1};
    double good = good_error * good_error * curves->epochs * curves->batches;
    double error = fit_curves (&knots, curves);
    while (error > good && knots.count < KNOTS_ENOUGH && knots.count < curves->epochs) {
        struct knots best = knots;
        double best_error = INFINITY;
        for (int e = 1; e < curves->epochs - 1; e++) {
            if (has_knot (&knots, e))
                continue;
            struct knots more = with_knot (&knots, e);
            double more_error = fit_curves (&more, curves);
            if (more_error < best_error) {
                best = more;
                best_error = more_error;
            }
        }
        knots = best;
        error = best_error;
    }
    return knots;
}

static int take_curves (const struct app *app, int stride, struct curves *ret,
                        struct pollux_error *err)
{
    const struct training_curve *curve = &app->curve;
    int batches = (curve->batch_count + stride - 1) / stride;
    size_t epochs = (size_t)curve->epochs;
    double scale = (double)app->limits.max_batch / (double)app->limits.init_batch;
    struct point *points = calloc ((size_t)batches * epochs, sizeof *points);
    if (!points)
        return fail (err, -ENOMEM, "no memory for the noise of %d epochs", curve->epochs);
    for (int b = 0; b < batches; b++)
        for (size_t e = 0; e < epochs; e++) {
            struct pollux_grad grad = training_curve_cell (curve, (int)e, b * stride)->grad;
            double noise = grad.sqr > 0 ? grad.var / grad.sqr : INFINITY;
            noise = fmin (fmax (noise, least_noise), most_noise * scale);
            points[(size_t)b * epochs + e] = (struct point){
                .log = log (noise),
                .weight = fmax (noise / (1 + noise) - noise / (scale + noise), least_weight),
            };
        }
    *ret = (struct curves){.epochs = curve->epochs, .batches = batches, .points = points};
    return 0;
}

/* The models fitted to its step times.  An application that runs on nodes with types only has the first one's also for
 * nodes without a type. */
static int take_models (const struct app *app, struct profile *profile, struct pollux_error *err)
{
    const struct app *first = app->timing ? app : &app->parts[0];
    int code = first->timing->model (first->times, &profile->model, err);
    profile->restart_delay_s = app->part_count > 0 ? app->restart_delay_s : NAN;
    profile->slowdown = app->part_count > 0 ? app->slowdown : 1;
    for (int i = 0; code == 0 && i < app->part_count; i++) {
        const struct app *part = &app->parts[i];
        struct profile_type *type = &profile->types[profile->type_count++];
        memcpy (type->name, part->type, sizeof type->name);
        type->min_local = part->limits.min_local;
        type->max_local = part->limits.max_local;
        type->one_gpu = part->speed;
        code = part->timing->model (part->times, &type->model, err);
    }
    return code;
}

int profile_of_app (const struct app *app, struct profile *ret, struct pollux_error *err)
{
    const struct training_curve *curve = &app->curve;
    int stride = (curve->batch_count + PROFILE_BATCHES - 1) / PROFILE_BATCHES;
    struct curves curves = {0};
    struct profile profile = {
        .epochs = curve->epochs,
        .epoch_iterations = curve->need[curve->epochs] / curve->epochs,
        .limits = app->limits,
        .pinned_replicas = app->pin.replicas,
        .pinned_batch = app->pin.batch,
    };
    memcpy (profile.name, app->name, sizeof profile.name);
    int code = take_models (app, &profile, err);
    if (code == 0)
        code = take_curves (app, stride, &curves, err);
    if (code < 0)
        return code;

    struct knots knots = choose_knots (&curves);
    profile.knot_count = knots.count;
    for (int i = 0; i < knots.count; i++)
        profile.progress[i] = (knots.at[i] + 0.5) / curve->epochs;
    profile.batch_count = curves.batches;
    for (int b = 0; b < curves.batches; b++) {
        double values[KNOTS_ENOUGH];
        fit_curve (&knots, curves.points + (size_t)b * (size_t)curve->epochs, curve->epochs,
                   values);
        profile.batches[b] = curve->batches[b * stride];
        for (int i = 0; i < knots.count; i++)
            profile.ratio[b][i] = exp (values[i]);
    }
    free (curves.points);
    *ret = profile;
    return 0;
}
