/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fit the throughput model to measured step times.
 *
 * The loss (fit_loss.c) has two cusps and a few local minima, and the usual methods stall at a cusp.
 * So the cusps are smoothed, strongly at first and then less and less, and several descents compete:
 * all start with the strongest smoothing, the best continue with less, and only the winner descends
 * without.  The order and the number of steps depend only on the samples: equal samples give equal
 * fits.
 *
 * On the measurements published with the paper, this finds the best loss of hundreds of random
 * starts with seventy evaluations of the loss.
 */
#include "model/fit.h"

#include <math.h>

/* A starting point, and later the point that the descent from it has reached. */
struct candidate {
    double x[PARAMS];
    double loss;
};

/* Values of gamma for the starts: overlap from none to nearly complete. */
static const double guesses[] = {1, 1.5, 2.5, 5, 9};
enum { GUESSES = sizeof (guesses) / sizeof (guesses[0]), STARTS = 1 + GUESSES };

/* Smaller differences of the loss are ignored. */
static const double equal_loss = 1e-8;

/* The rounds: smoothing, tolerance, upper bound or estimate of the curvature, and number of
 * candidates.  Smoothing shifts the loss of a minimum by at most twice its value. */
static const struct round {
    double smoothing, tolerance;
    bool bounding;
    int entrants;
} rounds[] = {
    {1e-2, 1e-4, true, STARTS}, {1e-3, 1e-6, false, 4},  {1e-4, 1e-8, false, 3},
    {1e-5, 1e-11, false, 2},    {1e-6, 1e-11, false, 1}, {1e-7, 1e-11, false, 1},
    {1e-8, 1e-11, false, 1},
};

/* Sort by loss; equal ones keep their order. */
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

/* Let candidates descend, from a given round on.  Returns the best point that any of them reached at
 * any time: a smoothed descent may leave a point that is better without smoothing. */
static struct candidate compete (const struct fit_data *data, const struct box *box,
                                 struct candidate *candidates, int count, size_t first)
{
    double floor = fit_floor (data, box);
    rank (data, candidates, count);
    struct candidate best = candidates[0];
    for (size_t r = first; r < sizeof (rounds) / sizeof (rounds[0]); r++) {
        /* One or two samples are often matched exactly by a start. */
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

/* Up to this many configurations, every fit searches from all starts, because a new one can move the
 * minimum to another valley.  Later it does so when their number has doubled; in between the fit
 * starts from the last model: ten times faster, and as good on the published measurements. */
enum { FEW_CONFIGS = 8 };

static bool power_of_two (size_t count)
{
    return (count & (count - 1)) == 0;
}

/* If the last model has a smaller loss than this on all samples, the fit starts from it alone;
 * otherwise it is one more start. */
static const double familiar = 0.02;

/* The best fit from the fixed starts, or from the last model if that is as good: parameters that the
 * samples do not determine then keep their values. */
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

/* Computed sample by sample with the model's functions: slow and simple, the reference in the tests
 * of fit_loss.c. */
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
