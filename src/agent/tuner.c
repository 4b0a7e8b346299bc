/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the agent fits the model, and what it predicts.
 *
 * It fits at most once per period, and before a choice of the batch, if new steps were measured.  The
 * first fit of a generation comes after a few steps, or at once if a checkpoint contains measurements.
 * The choice itself is model/adaptation.c.
 *
 * This runs on the training thread.  A fit takes a fraction of a millisecond (bench/agent.c); a
 * separate thread would cost more than it saves.
 */
#include "agent/tuner.h"

#include <math.h>

/* Steps before the first fit: the mean of fewer is not reliable. */
static const uint64_t first_steps = 10;

void tuner_start (struct tuner *tuner, const struct pollux_limits *limits,
                  struct pollux_shape shape, double period_s)
{
    *tuner = (struct tuner){
        .limits = *limits,
        .shape = shape,
        .period_s = period_s,
        .batch = adaptation_first_batch (limits, limits->init_batch, shape.replicas, false),
        .fitted_at_s = -INFINITY,
    };
}

void tuner_resume (struct tuner *tuner, int64_t total_batch)
{
    if (!tuner->fixed)
        tuner->batch = adaptation_first_batch (&tuner->limits, total_batch, tuner->shape.replicas,
                                               tuner->few_sizes);
}

void tuner_fix (struct tuner *tuner, struct pollux_batch batch)
{
    tuner->fixed = batch.m > 0;
    if (tuner->fixed)
        tuner->batch = batch;
}

static void predict (struct tuner *tuner, struct pollux_grad grad)
{
    struct pollux_best best;
    if (pollux_best_batch (&tuner->fit.model, grad, &tuner->limits, POLLUX_EXACT, tuner->shape,
                           &best, NULL) == 0)
        tuner->best = best;
}

/* True if there are enough new steps, and the period is over, or a batch is to be chosen and one more
 * configuration was measured. */
static bool fit_due (const struct tuner *tuner, const struct profile *profile, bool choice_due,
                     double now_s)
{
    if (profile->steps == tuner->fitted_steps)
        return false;
    if (tuner->fitted_at_s > -INFINITY)
        return (choice_due && profile->count != tuner->fitted_count) ||
               now_s - tuner->fitted_at_s >= tuner->period_s;
    return profile->steps - tuner->fitted_steps >= first_steps;
}

bool tuner_refit (struct tuner *tuner, const struct profile *profile, struct pollux_grad grad,
                  bool choice_due, double now_s)
{
    struct pollux_sample samples[PROFILE_LIMIT];
    struct pollux_fit fit;
    if (!fit_due (tuner, profile, choice_due, now_s))
        return false;
    size_t count = profile_samples (profile, samples);
    tuner->fitted_at_s = now_s;
    tuner->fitted_steps = profile->steps;
    tuner->fitted_count = profile->count;
    if (pollux_fit (samples, count, tuner->fitted ? &tuner->fit.model : NULL, &fit, NULL) < 0)
        return false; /* no memory: keep the last fit */
    tuner->fit = fit;
    tuner->fitted = true;
    predict (tuner, grad);
    return true;
}

bool tuner_choose (struct tuner *tuner, struct pollux_grad grad)
{
    predict (tuner, grad);
    return !tuner->fixed && adaptation_choose (&tuner->fit.model, grad, &tuner->limits,
                                               tuner->shape, tuner->few_sizes, &tuner->batch);
}
