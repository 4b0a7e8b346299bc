/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the agent fits the model and changes the batch.
 *
 * It fits at most once per period, and before a choice of the batch, if new steps were measured.  The
 * first fit of a generation comes after a few steps, or at once if a checkpoint contains measurements.
 *
 * A batch is chosen every TUNER_UPDATES updates, once there is enough evidence of the noise.  It at most
 * doubles each time, so that a wrong estimate does little harm before it is corrected.  A choice must
 * predict 5 % more goodput (hysteresis), because every change has a cost, for example buffers.
 *
 * This runs on the training thread.  A fit takes a fraction of a millisecond (bench/agent.c); a
 * separate thread would cost more than it saves.
 */
#include "agent/tuner.h"

#include <math.h>

/* Steps before the first fit: the mean of fewer is not reliable. */
static const uint64_t first_steps = 10;

/* The batch changes only for more goodput than this factor. */
static const double improvement = 1.05;

/* M0 over the replicas; without accumulation in one step, of at most max_local samples. */
static struct pollux_batch first_batch (const struct pollux_limits *limits, int replicas)
{
    int64_t most = limits->accumulation ? limits->max_local : INT64_MAX;
    struct pollux_batch batch = pollux_split_batch (limits->init_batch, replicas, most, 1);
    batch.m = batch.m < limits->min_local ? limits->min_local : batch.m;
    batch.m = batch.m > limits->max_local ? limits->max_local : batch.m;
    return batch;
}

void tuner_start (struct tuner *tuner, const struct pollux_limits *limits,
                  struct pollux_shape shape, double period_s)
{
    *tuner = (struct tuner){
        .limits = *limits,
        .shape = shape,
        .period_s = period_s,
        .batch = first_batch (limits, shape.replicas),
        .fitted_at_s = -INFINITY,
    };
}

void tuner_resume (struct tuner *tuner, int64_t total_batch)
{
    struct pollux_limits limits = tuner->limits;
    if (tuner->fixed || total_batch <= limits.init_batch || total_batch > limits.max_batch)
        return;
    limits.init_batch = total_batch;
    tuner->batch = first_batch (&limits, tuner->shape.replicas);
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

void tuner_count (struct tuner *tuner)
{
    tuner->waits -= tuner->waits > 0;
}

/* True if there are enough new steps, and the period is over, or a batch is to be chosen and one more
 * configuration was measured. */
static bool fit_due (const struct tuner *tuner, const struct profile *profile, double now_s)
{
    if (profile->steps == tuner->fitted_steps)
        return false;
    if (tuner->fitted_at_s > -INFINITY)
        return (tuner->waits == 0 && profile->count != tuner->fitted_count) ||
               now_s - tuner->fitted_at_s >= tuner->period_s;
    return profile->steps - tuner->fitted_steps >= first_steps;
}

bool tuner_refit (struct tuner *tuner, const struct profile *profile, struct pollux_grad grad,
                  double now_s)
{
    struct pollux_sample samples[PROFILE_LIMIT];
    struct pollux_fit fit;
    if (!fit_due (tuner, profile, now_s))
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

/* The best batch with at most twice the present samples. */
static struct pollux_best best_within_reach (const struct tuner *tuner, struct pollux_grad grad)
{
    struct pollux_limits limits = tuner->limits;
    struct pollux_best best = {0};
    double reach = 2 * pollux_total_batch (tuner->shape, tuner->batch);
    if (reach < (double)limits.max_batch)
        limits.max_batch = reach > (double)limits.init_batch ? (int64_t)reach : limits.init_batch;
    (void)pollux_best_batch (&tuner->fit.model, grad, &limits, POLLUX_EXACT, tuner->shape, &best,
                             NULL);
    return best;
}

bool tuner_choose (struct tuner *tuner, struct pollux_grad grad, bool enough)
{
    if (!tuner->fitted || !enough || tuner->waits > 0)
        return false;
    tuner->waits = TUNER_UPDATES;
    predict (tuner, grad);
    struct pollux_best best = best_within_reach (tuner, grad);
    struct pollux_batch now = tuner->batch;
    if (tuner->fixed || !(best.goodput > 0))
        return false;
    double goodput =
        pollux_goodput (&tuner->fit.model, grad, tuner->limits.init_batch, tuner->shape, now);
    /* A first batch below M0 has no predicted goodput (NaN). */
    if (best.goodput <= improvement * goodput)
        return false;
    tuner->batch = best.batch;
    return best.batch.m != now.m || best.batch.s != now.s;
}
