/* SPDX-License-Identifier: Apache-2.0 */
/* When and how a job changes its batch: evidence, steps of at most a factor of 2, hysteresis. */
#include "model/adaptation.h"

#include <math.h>

/* Enough values for a standard error that means something; and too few, although there were enough before
 * (hysteresis).  A value has the weight of its batch, so a batch that doubles after every 50 updates reduces the
 * effective number, to 11 with a probe every 8 updates.  The standard error rises with it. */
static const double evidence_enough = 16, evidence_lost = 6;

/* Every update makes the evidence older by its gain, but between two measurements by no more than this: then the
 * means are always over 40 measurements, also with gains for which 1000 of progress are a few updates. */
static const double most_age = 50;

/* The steadiness that raises the limit of the gain: the standard error against the mean. */
static const double steady_error = 0.5;

/* The batch changes only for more goodput than this factor. */
static const double improvement = 1.05;

/* Updates with batch M0 in a pass over the data; 0: unknown. */
static double pass_of (const struct adaptation *adaptation)
{
    return (double)adaptation->dataset_size / (double)adaptation->init_batch;
}

struct adaptation adaptation_start (int64_t init_batch, int64_t dataset_size, bool adam)
{
    struct adaptation adaptation = {
        .init_batch = init_batch, .dataset_size = dataset_size, .adam = adam};
    adaptation.gain_limit = gain_limit_start (pass_of (&adaptation));
    return adaptation;
}

void adaptation_place (struct adaptation *adaptation)
{
    adaptation->waits = 0;
}

void adaptation_measure (struct adaptation *adaptation, struct pollux_grad grad, double scale)
{
    if (adaptation->adam && adaptation->updates < PROBE_FIRST_ADAM)
        return;
    if (!isfinite (grad.sqr) || !isfinite (grad.var))
        return;
    evidence_add (&adaptation->evidence, grad.sqr, grad.var, scale);
    adaptation->age = 0;
    adaptation->had_evidence = adaptation_has_evidence (adaptation);
}

/* Few values, or none, say nothing: their standard error may be 0. */
static bool is_steady (const struct adaptation *adaptation)
{
    const struct evidence *evidence = &adaptation->evidence;
    return adaptation_has_evidence (adaptation) &&
           evidence_error (evidence) <= steady_error * evidence->sqr;
}

void adaptation_advance (struct adaptation *adaptation, double gain)
{
    adaptation->updates++;
    double age = fmin (gain, most_age - adaptation->age);
    adaptation->age += age;
    evidence_age (&adaptation->evidence, age);
    gain_limit_advance (&adaptation->gain_limit, gain, is_steady (adaptation),
                        pass_of (adaptation));
    adaptation->waits -= adaptation->waits > 0;
}

bool adaptation_has_evidence (const struct adaptation *adaptation)
{
    double least = adaptation->had_evidence ? evidence_lost : evidence_enough;
    return evidence_count (&adaptation->evidence) >= least;
}

struct pollux_grad adaptation_grad (const struct adaptation *adaptation)
{
    double trust = adaptation->gain_limit.most / gain_limit_start (pass_of (adaptation)).most;
    double samples = (double)adaptation->dataset_size * trust;
    struct pollux_grad grad =
        evidence_grad (&adaptation->evidence, adaptation->init_batch, samples);
    grad.gain_max = adaptation_has_evidence (adaptation) ? adaptation->gain_limit.most : 1;
    return grad;
}

bool adaptation_take_turn (struct adaptation *adaptation)
{
    if (adaptation->waits > 0 || !adaptation_has_evidence (adaptation))
        return false;
    adaptation->waits = ADAPTATION_UPDATES;
    return true;
}

/* The best batch with at most twice the present samples. */
static struct pollux_best best_within_reach (const struct pollux_model *model,
                                             struct pollux_grad grad, struct pollux_limits limits,
                                             struct pollux_shape shape, struct pollux_batch now)
{
    struct pollux_best best = {0};
    double reach = 2 * pollux_total_batch (shape, now);
    if (reach < (double)limits.max_batch)
        limits.max_batch = reach > (double)limits.init_batch ? (int64_t)reach : limits.init_batch;
    (void)pollux_best_batch (model, grad, &limits, POLLUX_EXACT, shape, &best, NULL);
    return best;
}

/* Round m down to 8 x 2^k samples; smaller ones stay. */
static struct pollux_batch round_down (struct pollux_batch batch)
{
    int64_t m = 8;
    while (m <= batch.m / 2)
        m *= 2;
    batch.m = batch.m < m ? batch.m : m;
    return batch;
}

bool adaptation_choose (const struct pollux_model *model, struct pollux_grad grad,
                        const struct pollux_limits *limits, struct pollux_shape shape,
                        bool few_sizes, struct pollux_batch *batch)
{
    struct pollux_batch now = *batch;
    struct pollux_best best = best_within_reach (model, grad, *limits, shape, now);
    if (few_sizes) {
        best.batch = round_down (best.batch);
        best.goodput = pollux_goodput (model, grad, limits->init_batch, shape, best.batch);
    }
    /* NaN if it was rounded to less than M0. */
    if (!(best.goodput > 0) || best.batch.m < limits->min_local)
        return false;
    double goodput = pollux_goodput (model, grad, limits->init_batch, shape, now);
    /* A first batch below M0 has no predicted goodput (NaN). */
    if (best.goodput <= improvement * goodput)
        return false;
    *batch = best.batch;
    return best.batch.m != now.m || best.batch.s != now.s;
}

static int64_t total_of (struct pollux_batch batch, int replicas)
{
    return replicas * batch.m * (batch.s + 1);
}

struct pollux_batch adaptation_first_batch (const struct pollux_limits *limits, int64_t total_batch,
                                            int replicas, bool few_sizes)
{
    int64_t most = limits->accumulation ? limits->max_local : INT64_MAX;
    if (total_batch < limits->init_batch || total_batch > limits->max_batch)
        total_batch = limits->init_batch;
    struct pollux_batch batch = pollux_split_batch (total_batch, replicas, most, 1);
    batch.m = batch.m < limits->min_local ? limits->min_local : batch.m;
    batch.m = batch.m > limits->max_local ? limits->max_local : batch.m;
    struct pollux_batch rounded = round_down (batch);
    bool allowed =
        rounded.m >= limits->min_local && total_of (rounded, replicas) >= limits->init_batch;
    return few_sizes && allowed ? rounded : batch;
}
