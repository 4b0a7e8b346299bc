/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decide and follow.  Replica 0 writes its decision into a few doubles, which hold all of it exactly
 * (batches are below 2^53).  The caller broadcasts them, and every replica, also replica 0, reads
 * its advice from them: all replicas agree to the last bit of a factor.
 */
#include "agent/agent.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"

/* The first number: identifies advice of version 2. */
static const double mark = 20210714002.;

/* The factor of a group: one gain for all groups, except with a rule by group. */
static double factor_of (const struct pollux_agent *agent, const struct pollux_rate *rate,
                         struct pollux_grad grad, int group)
{
    if (agent->observe)
        return 1;
    if (pollux_rule_is_by_group (agent->rule)) {
        double most = grad.gain_max;
        grad = pollux_noise_group (agent->noise, group);
        grad.gain_max = most;
    }
    double factor = pollux_rule_factor (agent->rule, rate, grad);
    return isfinite (factor) ? factor : 1;
}

/* Factors and progress of the update with this step's batch. */
static double decide_update (struct pollux_agent *agent, double *factors)
{
    agent->before.is_set = true;
    agent->before.progress = agent->progress;
    agent->before.moment = agent->moment;
    agent->before.adaptation = agent->adaptation;
    struct pollux_rate rate = {
        .init_batch = agent->tuner.limits.init_batch,
        .total_batch = agent_samples (agent),
        .progress = agent->progress,
        .warmup_epochs = agent->warmup_epochs,
        .dataset_size = agent->adaptation.dataset_size,
    };
    struct pollux_grad grad = agent_grad (agent);
    for (int g = 0; g < agent->groups; g++)
        factors[g] = factor_of (agent, &rate, grad, g);
    double gain = pollux_rate_advance (&rate, grad);
    if (!isfinite (gain))
        return 0;
    if (agent->beta2 > 0) {
        agent->moment = second_moment_next (agent->moment, agent->beta2, fmax (gain, 1));
        for (int g = 0; pollux_rule_is_adam (agent->rule) && !agent->observe && g < agent->groups;
             g++)
            factors[g] = second_moment_factor (agent->moment, gain);
    }
    agent->progress = rate.progress;
    adaptation_advance (&agent->adaptation, gain);
    return gain;
}

static enum pollux_verdict verdict_of (const struct pollux_agent *agent)
{
    if (agent->total > 0 && agent->progress >= agent->total)
        return POLLUX_DONE;
    return pollux_agent_stopping (agent) ? POLLUX_STOP : POLLUX_GO;
}

/* Send a report if it is time.  The last one, with the final progress, is not delayed. */
static void report_if_due (struct pollux_agent *agent, enum pollux_verdict verdict, double now_s)
{
    bool last = verdict != POLLUX_GO && !agent->said_last;
    if (last || reporter_due (&agent->reporter, agent->news, agent->tuner.period_s, now_s))
        agent_report (agent, now_s);
    agent->said_last = verdict != POLLUX_GO;
}

/* Is this update a probe, counted from 0 since the training began? */
static bool is_probe (const struct pollux_agent *agent, uint64_t update)
{
    const struct tuner *tuner = &agent->tuner;
    return !tuner->fixed && probe_is_needed (&tuner->limits, agent->world.shape.replicas) &&
           probe_is_due (update, agent->beta2 > 0);
}

struct pollux_batch pollux_agent_batch_at (const struct pollux_agent *agent, int64_t update)
{
    const struct tuner *tuner = &agent->tuner;
    return update >= 0 && is_probe (agent, (uint64_t)update)
               ? probe_batch (&tuner->limits, tuner->batch)
               : tuner->batch;
}

static void decide (struct pollux_agent *agent)
{
    double now_s = agent->now_s (agent->clock), gain = 0;
    double *numbers = agent->numbers, *factors = numbers + NUMBER_FACTORS;
    bool updates = agent->watch.open && !agent->skip && !agent->decided;
    for (int g = 0; g < agent->groups; g++)
        factors[g] = agent->factors[g];
    if (updates)
        gain = decide_update (agent, factors);
    agent->decided = true; /* a second call in this step does not count the update again */
    struct pollux_grad grad = agent_grad (agent);
    bool fitted = agent->tuner.fitted;
    bool due = agent->adaptation.waits == 0;
    if (tuner_refit (&agent->tuner, agent_profile (agent), grad, due, now_s)) {
        struct type_profile *present = &agent->types.items[0];
        present->fitted = true;
        present->model = agent->tuner.fit.model;
        agent->news |= !fitted;
    }
    if (agent->tuner.fitted && adaptation_take_turn (&agent->adaptation))
        agent->news |= tuner_choose (&agent->tuner, grad);
    enum pollux_verdict verdict = verdict_of (agent);
    report_if_due (agent, verdict, now_s);
    numbers[NUMBER_MARK] = mark;
    numbers[NUMBER_M] = (double)agent->tuner.batch.m;
    numbers[NUMBER_S] = (double)agent->tuner.batch.s;
    numbers[NUMBER_PROBE] = is_probe (agent, agent->adaptation.updates);
    numbers[NUMBER_VERDICT] = verdict;
    numbers[NUMBER_SKIP] = agent->watch.open && agent->skip;
    numbers[NUMBER_GAIN] = gain;
    numbers[NUMBER_PROGRESS] = agent->progress;
}

double *pollux_agent_decide (struct pollux_agent *agent, size_t *ret_count)
{
    *ret_count = (size_t)NUMBER_FACTORS + (size_t)agent->groups;
    if (agent_is_here (agent) && agent_decides (agent))
        decide (agent);
    return agent->numbers;
}

/* Replica 0 has the state from before its decision.  The others have followed nothing yet, so they have it, too.
 * A batch that was chosen stays. */
void agent_take_back (struct pollux_agent *agent)
{
    double *numbers = agent->numbers;
    if (agent->before.is_set) {
        uint64_t waits = agent->adaptation.waits;
        agent->progress = agent->before.progress;
        agent->moment = agent->before.moment;
        agent->adaptation = agent->before.adaptation;
        agent->adaptation.waits = waits;
        agent->before.is_set = false;
    }
    if (numbers[NUMBER_MARK] != mark)
        return; /* no decision yet */
    numbers[NUMBER_SKIP] = 1;
    numbers[NUMBER_GAIN] = 0;
    numbers[NUMBER_PROGRESS] = agent->progress;
    if (numbers[NUMBER_VERDICT] == POLLUX_DONE)
        numbers[NUMBER_VERDICT] = POLLUX_GO;
    if (agent_decides (agent))
        numbers[NUMBER_PROBE] = is_probe (agent, agent->adaptation.updates);
}

/* True for an integer from low to POLLUX_BATCH_LIMIT. */
static bool is_count (double value, double low)
{
    return value >= low && value <= (double)POLLUX_BATCH_LIMIT && value == floor (value);
}

static int check_numbers (const struct pollux_agent *agent, struct pollux_error *err)
{
    const double *numbers = agent->numbers;
    if (numbers[NUMBER_MARK] != mark)
        return fail (err, -EINVAL,
                     "agent: no advice: call pollux_agent_decide, then broadcast its numbers from "
                     "replica 0 (this is replica %d)",
                     agent->world.rank);
    double verdict = numbers[NUMBER_VERDICT];
    bool legal = is_count (numbers[NUMBER_M], 1) && is_count (numbers[NUMBER_S], 0) &&
                 numbers[NUMBER_M] * (numbers[NUMBER_S] + 1) <= 2 * (double)POLLUX_BATCH_LIMIT &&
                 (verdict == POLLUX_GO || verdict == POLLUX_STOP || verdict == POLLUX_DONE) &&
                 (numbers[NUMBER_SKIP] == 0 || numbers[NUMBER_SKIP] == 1) &&
                 (numbers[NUMBER_PROBE] == 0 || numbers[NUMBER_PROBE] == 1) &&
                 isfinite (numbers[NUMBER_GAIN]) && numbers[NUMBER_PROGRESS] >= 0 &&
                 isfinite (numbers[NUMBER_PROGRESS]);
    for (int g = 0; legal && g < agent->groups; g++)
        legal = isfinite (numbers[NUMBER_FACTORS + g]) && numbers[NUMBER_FACTORS + g] >= 0;
    return legal ? 0
                 : fail (err, -EINVAL,
                         "agent: advice that cannot be; do all replicas broadcast the same number "
                         "of doubles (%d groups here)?",
                         agent->groups);
}

int pollux_agent_follow (struct pollux_agent *agent, struct pollux_advice *ret,
                         struct pollux_error *err)
{
    if (!agent_is_here (agent)) {
        *ret = agent->advice;
        return 0;
    }
    int code = check_numbers (agent, err);
    if (code < 0)
        return code;
    const double *numbers = agent->numbers;
    struct pollux_batch before = agent->followed;
    struct pollux_batch batch = {(int64_t)numbers[NUMBER_M], (int64_t)numbers[NUMBER_S]};
    bool probe = numbers[NUMBER_PROBE] != 0;
    agent->advice = (struct pollux_advice){
        .batch = probe ? probe_batch (&agent->tuner.limits, batch) : batch,
        .verdict = (int)numbers[NUMBER_VERDICT],
        .skip = numbers[NUMBER_SKIP] != 0,
        .gain = numbers[NUMBER_GAIN],
        .progress = numbers[NUMBER_PROGRESS],
    };
    for (int g = 0; g < agent->groups; g++)
        agent->factors[g] = numbers[NUMBER_FACTORS + g];
    agent->progress = agent->advice.progress;
    agent->tuner.batch = agent->followed = batch;
    /* A batch that changes within a step is for the next one, which is then not measured. */
    bool changed = before.m != batch.m || before.s != batch.s;
    agent->changed |= changed && agent->watch.open;
    agent->unmeasured |= changed && !agent->watch.open;
    agent->numbers[NUMBER_MARK] = 0; /* the same numbers are not followed twice */
    *ret = agent->advice;
    return 0;
}

double pollux_agent_factor (const struct pollux_agent *agent, int group)
{
    return group >= 0 && group < agent->groups ? agent->factors[group] : 1;
}
