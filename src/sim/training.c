/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job for one interval, by the rules of the published simulator: the restart delay is served
 * first; then epoch follows epoch at the rate gain / T (1 - interference) of iterations of batch
 * M0 per second, and the end of an epoch falls on a whole second, rounded half to even.
 *
 * Rates change only with the epoch, the placement and the batch, so step times are kept until
 * one of the latter changes.  An interval within an epoch costs tens of nanoseconds then.
 *
 * A job whose agent counts updates trains update by update instead, and its epochs end at any time:
 * rounding an update that takes less than half a second would make it take no time.
 */
#include "sim/training.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void training_init (struct training *training, const struct app *app, int64_t requested_batch,
                    bool typed, double clock_s)
{
    *training = (struct training){
        .app = app,
        .here = app,
        .factors = {1, 1, 1},
        .typed = typed,
        .requested_batch = requested_batch,
        .clock_s = clock_s,
        .completed_s = NAN,
        .grad = {.sqr = NAN, .var = NAN},
    };
}

void training_clear (struct training *training)
{
    free (training->counts);
    for (int i = 0; i <= APP_TYPES; i++)
        free (training->samples[i].list);
    memset (training, 0, sizeof *training);
}

bool training_done (const struct training *training)
{
    return training->epochs >= app_max_epochs (training->app);
}

struct pollux_grad training_grad (const struct training *training, double total_batch)
{
    struct pollux_grad grad = app_grad (training->app, training->epochs, total_batch);
    grad.var *= training->factors.noise;
    return grad;
}

/* ---- The batch ---------------------------------------------------------------------------- */

/* Another batch invalidates the step times. */
static void set_batch (struct training *training, struct pollux_batch batch)
{
    if (batch.m != training->batch.m)
        training->step.step_s = 0;
    training->batch = batch;
}

/* Choose a batch for the current placement. */
static int choose_batch (struct training *training, const struct batch_chooser *chooser,
                         struct pollux_error *err)
{
    const struct pollux_limits *limits = &training->limits;
    int replicas = training->replicas;
    struct pollux_batch batch;
    if (training->requested_batch > 0) {
        batch = batch_split (limits, training->requested_batch, replicas);
    } else {
        int code = chooser->choose (chooser->self, training, &batch, err);
        if (code < 0)
            return code;
        training->chosen_grad = training->grad;
        training->chosen_count = training_samples (training)->count;
    }
    int64_t most = training->typed ? app_most_local (training->here, replicas) : 0;
    if (most > 0 && batch.m > most)
        batch.m = most;
    set_batch (training, batch_limit (limits, batch, replicas));
    return 0;
}

/* The limits of the present placement. */
static struct pollux_limits limits_here (const struct training *training)
{
    struct pollux_limits limits = *app_limits (training->here);
    if (training->typed)
        limits.max_local = app_max_local (training->here, training->counts, training->nodes);
    return limits;
}

/* True if the chooser would see the same samples and statistics as last time. */
static bool nothing_new (const struct training *training)
{
    return training_samples (training)->count == training->chosen_count &&
           training->grad.sqr == training->chosen_grad.sqr &&
           training->grad.var == training->chosen_grad.var;
}

int training_place (struct training *training, const struct app *here, const int *counts, int nodes,
                    double delay_s, const struct batch_chooser *chooser, struct pollux_error *err)
{
    if (nodes > training->counts_capacity) {
        int *more = realloc (training->counts, (size_t)nodes * sizeof *more);
        if (!more)
            return fail (err, -ENOMEM, "no memory for a placement on %d nodes", nodes);
        training->counts = more;
        training->counts_capacity = nodes;
    }
    training->nodes = nodes;
    training->replicas = 0;
    for (int i = 0; i < nodes; i++) {
        training->counts[i] = counts[i];
        training->replicas += counts[i];
    }
    training->step.step_s = 0;
    training->update_share = 0;
    training->delay_s = nodes > 0 ? delay_s : 0;
    if (nodes > 0) {
        training->here = here;
        training->limits = limits_here (training);
        return choose_batch (training, chooser, err);
    }
    training->batch = (struct pollux_batch){0, 0};
    return 0;
}

/* ---- What the agent measures -------------------------------------------------------------- */

static bool same_configuration (const struct pollux_sample *sample, const struct training *training,
                                int64_t m)
{
    return sample->shape.nodes == training->nodes && sample->shape.replicas == training->replicas &&
           sample->m == m;
}

/* Add a sample of step times with m samples on each replica, unless this configuration has one. */
static int learn (struct training *training, int64_t m, struct app_step step,
                  struct pollux_error *err)
{
    struct type_samples *samples = &training->samples[app_index (training->here)];
    for (size_t i = 0; i < samples->count; i++)
        if (same_configuration (&samples->list[i], training, m))
            return 0;
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? 2 * samples->capacity : 4;
        struct pollux_sample *more = realloc (samples->list, capacity * sizeof *more);
        if (!more)
            return fail (err, -ENOMEM, "no memory for %zu samples", capacity);
        samples->list = more;
        samples->capacity = capacity;
    }
    samples->list[samples->count++] = (struct pollux_sample){
        .shape = {.nodes = training->nodes, .replicas = training->replicas},
        .m = m,
        .grad_s = step.step_s - step.sync_s,
        .step_s = step.step_s,
        .weight = 1,
    };
    if (training->replicas > samples->max_replicas)
        samples->max_replicas = training->replicas;
    return 0;
}

static int measure (struct training *training, int64_t m, struct app_step *ret,
                    struct pollux_error *err)
{
    struct app_step step = app_step (training->here, training->counts, training->nodes, m);
    if (isnan (step.step_s))
        return fail (err, -ENOMEM, "%s: no memory for its step times", app_name (training->app));
    training->modelled |= step.modelled;
    double time = training->factors.time, sync = time * training->factors.sync;
    step.step_s = step.step_s * time + step.sync_s * (sync - time);
    step.sync_s *= sync;
    *ret = step;
    return learn (training, m, step, err);
}

/* ---- Time --------------------------------------------------------------------------------- */

static void pass (struct training *training, double seconds)
{
    training->clock_s += seconds;
    training->attained_s += seconds * training->replicas;
}

/* Train at a rate until the seconds or the epoch end, at a whole second if `whole`.  Returns the seconds
 * left. */
static double train (struct training *training, double rate, double seconds, bool whole)
{
    double need = app_need (training->app, training->epochs + 1);
    if (training->progress + rate * seconds < need) {
        training->progress += rate * seconds;
        pass (training, seconds);
        return 0;
    }
    double taken = rate > 0 ? (need - training->progress) / rate : 0;
    /* rint rounds half to even.  It can exceed seconds only if that is not whole. */
    taken = fmin (whole ? rint (taken) : taken, seconds);
    training->progress = need;
    training->epochs++;
    pass (training, taken);
    if (training_done (training))
        training->completed_s = training->clock_s;
    return seconds - taken;
}

/* Train at the rate of the present batch, by the published rules.  Returns the seconds left. */
static int train_at_rate (struct training *training, double interference,
                          const struct batch_chooser *chooser, double *seconds,
                          struct pollux_error *err)
{
    struct pollux_shape shape = {.nodes = training->nodes, .replicas = training->replicas};
    int code =
        training->step.step_s > 0 ? 0 : measure (training, training->batch.m, &training->step, err);
    if (code < 0)
        return code;
    double total_batch = pollux_total_batch (shape, training->batch);
    training->grad = training_grad (training, total_batch);
    double gain =
        pollux_gain (training->grad, total_batch / (double)app_limits (training->app)->init_batch);
    double rate = gain / app_iter_time (training->step, training->batch.s) * (1 - interference);
    if (training->typed)
        rate /= app_slowdown (training->app);
    *seconds = train (training, rate, *seconds, true);
    if (training->requested_batch == 0 && !training_done (training) && !nothing_new (training))
        code = choose_batch (training, chooser, err);
    return code;
}

static int end_update (struct training *training, const struct batch_chooser *chooser,
                       const struct training_update *update, struct pollux_error *err)
{
    struct pollux_batch batch = training->batch;
    training->update_share = 0;
    int code = chooser->end (chooser->self, training, update, &batch, err);
    if (code < 0)
        return code;
    set_batch (training, batch);
    return 0;
}

/* Train until the update, the epoch or the seconds end.  Returns the seconds left. */
static int train_update (struct training *training, double interference,
                         const struct batch_chooser *chooser, double *seconds,
                         struct pollux_error *err)
{
    struct training_update update = chooser->begin (chooser->self, training);
    bool probe = update.batch.m != training->batch.m;
    struct app_step step = training->step;
    int code = !probe && step.step_s > 0 ? 0 : measure (training, update.batch.m, &step, err);
    if (code < 0)
        return code;
    if (!probe)
        training->step = step;
    training->grad = update.grad;
    double iter_s = app_iter_time (step, update.batch.s) / (1 - interference);
    if (training->typed)
        iter_s *= app_slowdown (training->app);
    double span = fmin (*seconds, (1 - training->update_share) * iter_s);
    double left = train (training, update.gain / iter_s, span, false);
    *seconds -= span - left;
    training->update_share += (span - left) / iter_s;
    if (training->update_share < 1 - 1e-9 || training_done (training))
        return 0;
    return end_update (training, chooser, &update, err);
}

int training_advance (struct training *training, double seconds, double interference,
                      const struct batch_chooser *chooser, struct pollux_error *err)
{
    if (training_done (training))
        return 0;
    if (training->replicas == 0) {
        training->clock_s += seconds;
        return 0;
    }
    double delay = fmin (training->delay_s, seconds);
    training->delay_s -= delay;
    pass (training, delay);
    seconds -= delay;

    bool counts = training->requested_batch == 0 && chooser->begin;
    while (seconds > 0 && !training_done (training)) {
        int code = counts ? train_update (training, interference, chooser, &seconds, err)
                          : train_at_rate (training, interference, chooser, &seconds, err);
        if (code < 0)
            return code;
    }
    training->clock_s += seconds; /* the seconds after the end */
    return 0;
}
