/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open and close an agent, and its inputs: marks of a step, gradient statistics, signals; and its
 * report.  advice.c makes decisions from them; state.c saves and restores the agent.
 *
 * Every public function first checks whether this is the process that opened the agent, so that
 * children (data loaders, for example) never report for their parent.
 */
#define _GNU_SOURCE
#include "agent/agent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/environment.h"
#include "agent/message.h"
#include "agent/signals.h"
#include "base/error.h"
#include "model/noise.h"

static const double default_period_s = 30, least_period_s = 1;

static double monotonic_s (void *unused)
{
    (void)unused;
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double now_s (const struct pollux_agent *agent)
{
    return agent->now_s (agent->clock);
}

bool agent_is_here (const struct pollux_agent *agent)
{
    return agent->pid == getpid ();
}

/* ---- Opening ------------------------------------------------------------------------------ */

void pollux_setup_default (int64_t init_batch, struct pollux_setup *ret)
{
    *ret = (struct pollux_setup){
        .limits = {.init_batch = init_batch,
                   .max_batch = init_batch,
                   .min_local = 1,
                   .max_local = init_batch},
        .groups = 1,
    };
}

static int check_limits (const struct pollux_limits *limits, struct pollux_error *err)
{
    if (limits->init_batch < 1 || limits->max_batch < limits->init_batch ||
        limits->max_batch > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL,
                     "agent: expected 1 <= init_batch <= max_batch <= 2^40, got %lld and %lld",
                     (long long)limits->init_batch, (long long)limits->max_batch);
    if (limits->min_local < 1 || limits->max_local < limits->min_local ||
        limits->max_local > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL,
                     "agent: expected 1 <= min_local <= max_local <= 2^40, got %lld and %lld",
                     (long long)limits->min_local, (long long)limits->max_local);
    return 0;
}

static int check_fixed (struct pollux_batch batch, int replicas, struct pollux_error *err)
{
    double total = pollux_total_batch ((struct pollux_shape){1, replicas}, batch);
    if (batch.m < 0 || batch.s < 0 || (batch.m > 0 && !(total <= (double)POLLUX_BATCH_LIMIT)))
        return fail (err, -EINVAL,
                     "agent: a fixed batch has m >= 1, s >= 0 and at most 2^40 samples, got m = "
                     "%lld, s = %lld",
                     (long long)batch.m, (long long)batch.s);
    return 0;
}

static int check_setup (const struct pollux_setup *setup, struct pollux_error *err)
{
    int code = check_limits (&setup->limits, err);
    if (code < 0)
        return code;
    if (!(setup->total >= 0 && isfinite (setup->total)) ||
        !(setup->warmup_epochs >= 0 && isfinite (setup->warmup_epochs)))
        return fail (err, -EINVAL,
                     "agent: total and warmup_epochs must be 0 or more, got %g and %g",
                     setup->total, setup->warmup_epochs);
    if (!(setup->period_s == 0 ||
          (setup->period_s >= least_period_s && isfinite (setup->period_s))))
        return fail (err, -EINVAL, "agent: the period is %g s at least, or 0 for %g s, got %g",
                     least_period_s, default_period_s, setup->period_s);
    if (!(setup->beta2 >= 0 && setup->beta2 < 1))
        return fail (err, -EINVAL, "agent: beta2 is at least 0 and below 1, got %g", setup->beta2);
    if (setup->dataset_size < 0 || setup->dataset_size > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL, "agent: dataset_size is 0 to 2^40 samples, got %lld",
                     (long long)setup->dataset_size);
    if (setup->observe && setup->fixed.m < 1)
        return fail (err, -EINVAL,
                     "agent: to observe, it must know the batch: set fixed to the m and s in use");
    if (setup->rule && strcmp (setup->rule, "legw") == 0 && setup->dataset_size == 0)
        return fail (err, -EINVAL, "agent: legw needs dataset_size, 1..2^40 samples");
    return 0;
}

static int agent_init (struct pollux_agent *agent, const struct pollux_setup *setup,
                       struct pollux_error *err)
{
    const char *directory = getenv ("POLLUX_CHECKPOINT_DIR");
    agent->world = setup->world;
    int code = setup->world.shape.replicas ? 0 : pollux_world_read (&agent->world, err);
    if (code == 0)
        code = environment_check (&agent->world, err);
    if (code == 0)
        code = check_fixed (setup->fixed, agent->world.shape.replicas, err);
    if (code == 0)
        code = pollux_rule_by_name (setup->rule ? setup->rule : "adascale", &agent->rule, err);
    if (code == 0)
        code = pollux_noise_new (setup->groups, setup->limits.init_batch, &agent->noise, err);
    if (code < 0)
        return code;
    size_t groups = (size_t)setup->groups;
    agent->groups = setup->groups;
    agent->numbers = calloc (NUMBER_FACTORS + groups, sizeof (agent->numbers[0]));
    agent->factors = calloc (groups, sizeof (agent->factors[0]));
    agent->checkpoint_dir = directory && *directory ? strdup (directory) : NULL;
    if (!agent->numbers || !agent->factors || (directory && *directory && !agent->checkpoint_dir))
        return fail (err, -ENOMEM, "agent: no memory for %d groups", setup->groups);
    for (size_t g = 0; g < groups; g++)
        agent->factors[g] = 1;
    agent->observe = setup->observe;
    agent->total = setup->total;
    agent->warmup_epochs = setup->warmup_epochs;
    agent->beta2 = setup->beta2;
    agent->adaptation =
        adaptation_start (setup->limits.init_batch, setup->dataset_size, setup->beta2 > 0);
    agent->unmeasured = true;
    agent->types.count = 1;
    agent->types.items[0].max_local = setup->limits.max_local;
    type_name (getenv ("POLLUX_NODE_TYPE"), agent->types.items[0].type);
    tuner_start (&agent->tuner, &setup->limits, agent->world.shape,
                 setup->period_s > 0 ? setup->period_s : default_period_s);
    agent->tuner.few_sizes = setup->few_sizes;
    tuner_fix (&agent->tuner, setup->fixed);
    agent->advice = (struct pollux_advice){.batch = agent->tuner.batch};
    agent->followed = agent->tuner.batch;
    if (agent_decides (agent) && agent->world.generation > 0)
        reporter_open (&agent->reporter, getenv ("POLLUX_SOCKET"));
    return 0;
}

int pollux_agent_open (const struct pollux_setup *setup, struct pollux_agent **ret,
                       struct pollux_error *err)
{
    int code = check_setup (setup, err);
    if (code < 0)
        return code;
    struct pollux_agent *agent = calloc (1, sizeof (*agent));
    if (!agent)
        return fail (err, -ENOMEM, "agent: no memory");
    agent->pid = getpid ();
    agent->now_s = setup->clock_s ? setup->clock_s : monotonic_s;
    agent->clock = setup->clock;
    reporter_open (&agent->reporter, NULL);
    code = agent_init (agent, setup, err);
    if (code < 0)
        pollux_agent_close (agent);
    else
        *ret = agent;
    return code;
}

void pollux_agent_close (struct pollux_agent *agent)
{
    if (!agent)
        return;
    /* A child of fork only frees its copies of memory and socket. */
    if (agent_is_here (agent)) {
        if (agent->numbers && !agent->said_last)
            agent_report (agent, now_s (agent));
        if (agent->signal)
            signals_release (agent->signal);
    }
    reporter_close (&agent->reporter);
    pollux_noise_free (agent->noise);
    free (agent->checkpoint_dir);
    free (agent->factors);
    free (agent->numbers);
    free (agent);
}

struct pollux_world pollux_agent_world (const struct pollux_agent *agent)
{
    return agent->world;
}

const char *pollux_agent_checkpoint_dir (const struct pollux_agent *agent)
{
    return agent->checkpoint_dir;
}

void pollux_agent_set_total (struct pollux_agent *agent, double total)
{
    if (agent_is_here (agent))
        agent->total = total > 0 && isfinite (total) ? total : 0;
}

int pollux_agent_set_fixed (struct pollux_agent *agent, struct pollux_batch batch,
                            struct pollux_error *err)
{
    int code = check_fixed (batch, agent->world.shape.replicas, err);
    if (code == 0 && batch.m == 0 && agent->observe)
        code = fail (err, -EINVAL, "agent: an observed program chooses its batch itself");
    if (code < 0 || !agent_is_here (agent))
        return code;
    tuner_fix (&agent->tuner, batch);
    agent->advice.batch = agent->followed = agent->tuner.batch;
    agent->unmeasured = true;
    return 0;
}

/* ---- Stopping ----------------------------------------------------------------------------- */

int pollux_agent_catch (struct pollux_agent *agent, int signal, struct pollux_error *err)
{
    if (!agent_is_here (agent))
        return 0;
    if (agent->signal)
        return fail (err, -EBUSY, "agent: it has signal %d already", agent->signal);
    int code = signals_hold (signal, &agent->signal_count, err);
    if (code == 0)
        agent->signal = signal;
    return code;
}

bool pollux_agent_stopping (const struct pollux_agent *agent)
{
    return agent_is_here (agent) &&
           (agent->stop || (agent->signal && signals_count (agent->signal) != agent->signal_count));
}

void pollux_agent_stop (struct pollux_agent *agent)
{
    if (agent_is_here (agent))
        agent->stop = true;
}

/* ---- Measuring ---------------------------------------------------------------------------- */

void pollux_agent_pass_begin (struct pollux_agent *agent)
{
    if (!agent_is_here (agent))
        return;
    agent->unmeasured = true;
}

void pollux_agent_step_begin (struct pollux_agent *agent)
{
    if (!agent_is_here (agent))
        return;
    agent->skip = agent->decided = agent->changed = agent->before.is_set = false;
    agent->samples = 0;
    stopwatch_begin (&agent->watch, agent->advice.batch, now_s (agent));
}

void pollux_agent_sync_begin (struct pollux_agent *agent)
{
    if (agent_is_here (agent))
        stopwatch_sync_begin (&agent->watch, now_s (agent));
}

void pollux_agent_sync_end (struct pollux_agent *agent)
{
    if (agent_is_here (agent))
        stopwatch_sync_end (&agent->watch, now_s (agent));
}

void pollux_agent_sync_time (struct pollux_agent *agent, double seconds)
{
    if (agent_is_here (agent))
        stopwatch_sync (&agent->watch, seconds);
}

void pollux_agent_micro_end (struct pollux_agent *agent)
{
    if (agent_is_here (agent))
        stopwatch_micro_end (&agent->watch, now_s (agent));
}

void pollux_agent_step_times (struct pollux_agent *agent, double grad_s, double step_s)
{
    if (agent_is_here (agent))
        stopwatch_times (&agent->watch, grad_s, step_s);
}

int64_t agent_samples (const struct pollux_agent *agent)
{
    return agent->samples ? agent->samples
                          : (int64_t)pollux_total_batch (agent->world.shape, agent->watch.batch);
}

/* True if the step's samples, split evenly, give micro-batches of at most m with one of exactly m. */
static bool step_is_full (const struct pollux_agent *agent)
{
    int64_t parts = agent->world.shape.replicas * (agent->watch.batch.s + 1);
    return (agent_samples (agent) + parts - 1) / parts == agent->watch.batch.m;
}

int pollux_agent_samples (struct pollux_agent *agent, int64_t samples, struct pollux_error *err)
{
    if (!agent_is_here (agent) || !agent_decides (agent))
        return 0;
    if (!agent->watch.open || agent->decided)
        return fail (err, -EINVAL,
                     "agent: samples belong between step_begin and the decision on that step");
    if (samples < 1 || samples > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL, "agent: an update has 1 to 2^40 samples, got %lld",
                     (long long)samples);
    agent->samples = samples;
    return 0;
}

void pollux_agent_step_end (struct pollux_agent *agent)
{
    struct stopwatch_step step;
    if (!agent_is_here (agent) || !stopwatch_end (&agent->watch, now_s (agent), &step))
        return;
    if (agent_decides (agent) && !agent->unmeasured && step_is_full (agent))
        profile_add (&agent->types.items[0].profile, agent->world.shape, agent->watch.batch.m,
                     step.grad_s, step.step_s);
    agent->unmeasured = agent->changed;
}

void pollux_agent_step_drop (struct pollux_agent *agent)
{
    if (!agent_is_here (agent) || !agent->watch.open)
        return;
    agent_take_back (agent);
    agent->watch.open = false;
}

/* Samples per micro-gradient for n of them, rounded to the nearest integer. */
static int64_t samples_in (const struct pollux_agent *agent, int64_t n)
{
    int64_t m = (agent_samples (agent) + n / 2) / n;
    return m > 1 ? m : 1;
}

struct pollux_grad agent_grad (const struct pollux_agent *agent)
{
    return adaptation_grad (&agent->adaptation);
}

/* Add the statistics of an update with n micro-gradients, summed over the groups. */
static void add_evidence (struct pollux_agent *agent, double n, const double *micro_sqr,
                          const double *mean_sqr)
{
    double scale = (double)agent_samples (agent) / (double)agent->tuner.limits.init_batch;
    struct pollux_grad sum = {0};
    for (int g = 0; g < agent->groups; g++) {
        struct pollux_grad value = noise_estimate (micro_sqr[g], mean_sqr[g], n, scale);
        sum.sqr += value.sqr;
        sum.var += value.var;
    }
    adaptation_measure (&agent->adaptation, sum, scale);
}

int pollux_agent_gradients (struct pollux_agent *agent, int64_t parts, const double *micro_sqr,
                            const double *mean_sqr, struct pollux_error *err)
{
    if (!agent_is_here (agent) || !agent_decides (agent))
        return 0;
    if (!agent->watch.open)
        return fail (err, -EINVAL, "agent: gradients belong between step_begin and step_end");
    int64_t most = agent->watch.batch.s + 1;
    if (parts < 1 || parts > most || (parts > 1 && parts < most && !agent->samples))
        return fail (err, -EINVAL, "agent: parts must be s + 1 = %lld, or 1, got %lld",
                     (long long)most, (long long)parts);
    int replicas = agent->world.shape.replicas;
    struct pollux_batch batch = {samples_in (agent, replicas * parts), parts - 1};
    int code = pollux_noise_update (agent->noise, replicas, batch, micro_sqr, mean_sqr, err);
    agent->skip = code == -EDOM;
    if (code == 0)
        add_evidence (agent, (double)replicas * (double)parts, micro_sqr, mean_sqr);
    return code;
}

void pollux_agent_energy (struct pollux_agent *agent, double mean_sqr)
{
    double scale = (double)agent_samples (agent) / (double)agent->tuner.limits.init_batch;
    if (agent_is_here (agent) && agent_decides (agent) && agent->watch.open)
        second_moment_measure (&agent->moment, mean_sqr,
                               pollux_gain (agent_grad (agent), fmax (scale, 1)));
}

/* Samples of the only micro-gradient of a step with n = 1. */
static int64_t single_m (const struct pollux_agent *agent)
{
    return agent->watch.open ? agent_samples (agent)
                             : agent->advice.batch.m * (agent->advice.batch.s + 1);
}

int pollux_agent_gradients_single (struct pollux_agent *agent, const double *dot,
                                   const double *diff_sqr, struct pollux_error *err)
{
    if (!agent_is_here (agent) || !agent_decides (agent))
        return 0;
    if (!agent->watch.open)
        return fail (err, -EINVAL, "agent: gradients belong between step_begin and step_end");
    if (agent->world.shape.replicas > 1)
        return fail (err, -EINVAL, "agent: %d replicas have more than one gradient to compare",
                     agent->world.shape.replicas);
    int code = pollux_noise_update_single (agent->noise, single_m (agent), dot, diff_sqr, err);
    agent->skip = code == -EDOM;
    return code;
}

void pollux_agent_skip (struct pollux_agent *agent)
{
    if (!agent_is_here (agent) || !agent->watch.open)
        return;
    agent->skip = true;
    agent_take_back (agent);
}

bool pollux_agent_paired (const struct pollux_agent *agent)
{
    return agent->world.shape.replicas == 1 && !(agent->adaptation.evidence.weight > 0) &&
           pollux_noise_paired (agent->noise, single_m (agent));
}

/* ---- Telling ------------------------------------------------------------------------------ */

void agent_report (struct pollux_agent *agent, double at_s)
{
    char text[MESSAGE_SIZE];
    const struct tuner *tuner = &agent->tuner;
    struct message message = {
        .generation = agent->world.generation,
        .types = &agent->types,
        .grad = agent_grad (agent),
        .limits = tuner->limits,
        .progress = agent->progress,
        .total = agent->total,
        .batch = tuner->batch,
        .step_s = profile_step_s (agent_profile (agent), tuner->shape, tuner->batch.m),
        .rate_factor = agent->factors[0],
    };
    if (agent->reporter.file >= 0)
        reporter_send (&agent->reporter, text, message_write (&message, text), at_s);
    agent->news = false;
}

void pollux_agent_status (const struct pollux_agent *agent, struct pollux_status *ret)
{
    struct pollux_grad grad = pollux_noise_grad (agent->noise);
    struct pollux_grad decision_grad = agent_grad (agent);
    double weight = pollux_noise_weight (agent->noise);
    grad.gain_max = decision_grad.gain_max;
    *ret = (struct pollux_status){
        .batch = agent->followed,
        .updates = (int64_t)agent->adaptation.updates,
        .progress = agent->progress,
        .total = agent->total,
        .grad = grad,
        .decision_grad = decision_grad,
        .noise_scale =
            weight > 0 ? pollux_noise_scale (grad, agent->tuner.limits.init_batch) : (double)NAN,
        .noise_weight = weight,
        .noise_biased = pollux_noise_biased (agent->noise),
        .noise_unbiased =
            evidence_noise (&agent->adaptation.evidence, agent->tuner.limits.init_batch),
        .fitted = agent->tuner.fitted,
        .fit = agent->tuner.fit,
        .best = agent->tuner.best,
        .samples = agent_profile (agent)->count,
        .max_profiled_replicas = agent_profile (agent)->max_replicas,
        .reports_sent = agent->reporter.sent,
        .reports_lost = agent->reporter.lost,
        .report_error = agent->reporter.error,
    };
}
