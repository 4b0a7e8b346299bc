/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitting the throughput model to measured step times.
 *
 * The loss (fit_loss.c) has two cusps and a few local minima, and on a cusp the usual methods
 * stall.  So the cusps are rounded off, much at first and by and by to nothing, and several
 * descents compete: all of them find their valleys in the smoothest landscape, the best go on to
 * sharper ones, and only the winner to the sharpest.  The order of things and the number of
 * steps depend on the samples alone: equal samples, equal fit.
 *
 * On the measurements published with the paper this ends at the best loss that hundreds of
 * random starts find, after seventy evaluations of the loss.
 */
#include "model/fit.h"

#include <math.h>

/* A start of the competition, and later where the descent from it has come to. */
struct candidate {
    double x[PARAMS];
    double loss;
};

/* Gammas to guess a start for: overlap from none to nearly full. */
static const double guesses[] = {1, 1.5, 2.5, 5, 9};
enum { GUESSES = sizeof (guesses) / sizeof (guesses[0]), STARTS = 1 + GUESSES };

/* Differences of loss below this mean nothing. */
static const double equal_loss = 1e-8;

/* The rounds: how smooth, until a step gains how little, with a careful curvature or an accurate
 * one, and for how many.  Smoothing shifts the loss of a minimum by at most twice its value. */
static const struct round {
    double smoothing, tolerance;
    bool bounding;
    int entrants;
} rounds[] = {
    {1e-2, 1e-4, true, STARTS}, {1e-3, 1e-6, false, 4},  {1e-4, 1e-8, false, 3},
    {1e-5, 1e-11, false, 2},    {1e-6, 1e-11, false, 1}, {1e-7, 1e-11, false, 1},
    {1e-8, 1e-11, false, 1},
};

/* Best first, and the earlier one of equals. */
static void rank (const struct fit_data *data, struct candidate *candidates, int count)
{
    for (int i = 0; i < count; i++) {
        struct candidate moved = candidates[i];
        moved.loss = fit_score (data, moved.x).loss;
        int at = i;
        for (; at > 0 && candidates[at - 1].loss > moved.loss; at--)
            candidates[at] = candidates[at - 1];
        candidates[at] = moved;
    }
}

/* Let candidates descend, from one round on, and return the best point that any of them ever was
 * at: a smoothed descent may leave a point that is better without smoothing. */
static struct candidate compete (const struct fit_data *data, const struct box *box,
                                 struct candidate *candidates, int count, size_t first)
{
    double floor = fit_floor (data, box);
    rank (data, candidates, count);
    struct candidate best = candidates[0];
    for (size_t r = first; r < sizeof (rounds) / sizeof (rounds[0]); r++) {
        /* One or two samples are often met exactly by a guess already. */
        if (best.loss <= floor + equal_loss)
            break;
        const struct round *round = &rounds[r];
        struct rounded_loss loss = {data, round->smoothing, round->bounding};
        count = count < round->entrants ? count : round->entrants;
        for (int i = 0; i < count; i++)
            descend (rounded_loss_expand, &loss, box, round->tolerance, candidates[i].x);
        rank (data, candidates, count);
        if (candidates[0].loss < best.loss)
            best = candidates[0];
    }
    return best;
}

/* With so many configurations or fewer a new one can move the minimum to another valley; later it
 * is looked for anew whenever their number has doubled.  In between the last model leads on: ten
 * times faster, and on the published measurements as good. */
enum { FEW_CONFIGS = 8 };

static bool power_of_two (size_t count)
{
    return (count & (count - 1)) == 0;
}

/* A last model that explains all samples this well before it has seen the new ones is that of this
 * job; any other is only one more start. */
static const double familiar = 0.02;

/* The best fit from the fixed starts, or from the last model if that leads to one as good: where
 * the samples leave a parameter free, it then stays where it was. */
static struct candidate search (const struct fit_data *data, const struct box *box,
                                const struct pollux_model *last)
{
    struct candidate starts[STARTS];
    struct candidate warm = {.loss = INFINITY};
    if (last && fit_start_last (last, box, starts[0].x)) {
        double before = fit_score (data, starts[0].x).loss;
        warm = compete (data, box, starts, 1, 1);
        if (data->count > FEW_CONFIGS && !power_of_two (data->count) &&
            before <= warm.loss + familiar)
            return warm;
    }
    for (int i = 0; i < GUESSES; i++)
        fit_start_guess (data, box, guesses[i], starts[i].x);
    fit_start_published (box, starts[GUESSES].x);
    struct candidate cold = compete (data, box, starts, STARTS, 0);
    return warm.loss <= cold.loss + equal_loss ? warm : cold;
}

int pollux_fit (const struct pollux_sample *samples, size_t count, const struct pollux_model *last,
                struct pollux_fit *ret, struct pollux_error *err)
{
    struct fit_data data;
    int rc = fit_check (samples, count, err);
    if (rc == 0)
        rc = fit_data_init (&data, samples, count, err);
    if (rc < 0)
        return rc;
    struct box box = fit_box (&data);
    struct candidate best = search (&data, &box, last);
    struct fit_score score = fit_score (&data, best.x);
    struct pollux_model model = fit_model (best.x);
    fit_finish (&data, &model);
    fit_data_free (&data);
    *ret = (struct pollux_fit){model, score.loss, score.grad_error, score.step_error};
    return 0;
}

/* Sample by sample and with the model's own functions: plain and slow, the oracle for
 * fit_loss.c. */
double pollux_fit_loss (const struct pollux_sample *samples, size_t count,
                        const struct pollux_model *model)
{
    double x[PARAMS];
    fit_vector (model, x);
    bool legal = x[INV_GAMMA] <= 1;
    for (int i = 0; i < PARAMS; i++)
        legal &= x[i] > 0 && isfinite (x[i]);
    if (!legal || fit_check (samples, count, NULL) < 0)
        return NAN;
    double weight = 0, grad = 0, step = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pollux_sample *s = &samples[i];
        struct pollux_batch batch = {.m = s->m, .s = 0};
        double grad_off = log (pollux_grad_time (model, s->m)) - log (s->grad_s);
        double step_off = log (pollux_iter_time (model, s->shape, batch)) - log (s->step_s);
        weight += s->weight;
        grad += s->weight * grad_off * grad_off;
        step += s->weight * step_off * step_off;
    }
    return sqrt (grad / weight) + sqrt (step / weight) + fit_penalty (x);
}
