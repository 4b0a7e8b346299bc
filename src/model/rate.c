/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning-rate rules: the factor for a batch M = scale x M0, one function per rule and one table of
 * rules.  And progress, which counts updates with batch M0 and does not depend on the rule.
 */
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct pollux_rule {
    const char *name;
    bool by_group, adam;
    double (*factor) (const struct pollux_rate *rate, struct pollux_grad grad);
};

/* A batch below M0, for example the last one of a pass, counts as M0: it is one update with the rate for M0, as
 * without Pollux. */
static double rate_scale (const struct pollux_rate *rate)
{
    return fmax ((double)rate->total_batch / (double)rate->init_batch, 1);
}

static double rate_gain (const struct pollux_rate *rate, struct pollux_grad grad)
{
    return pollux_gain (grad, rate_scale (rate));
}

/* Johnson et al., AdaScale SGD (2020): the number of steps with batch M0 that this step replaces. */
static double adascale (const struct pollux_rate *rate, struct pollux_grad grad)
{
    return rate_gain (rate, grad);
}

/* AdaScale for optimizers that divide by the gradient's own size. */
static double adamscale (const struct pollux_rate *rate, struct pollux_grad grad)
{
    return sqrt (rate_gain (rate, grad));
}

/* Goyal et al. (2017). */
static double linear (const struct pollux_rate *rate, struct pollux_grad grad)
{
    (void)grad;
    return rate_scale (rate);
}

/* Krizhevsky (2014). */
static double square_root (const struct pollux_rate *rate, struct pollux_grad grad)
{
    (void)grad;
    return sqrt (rate_scale (rate));
}

/* You et al., LEGW (2019): the square root, after a linear warm-up that takes scale times as many
 * epochs as at M0.  Progress counts updates at M0, of which an epoch has dataset/M0. */
static double legw (const struct pollux_rate *rate, struct pollux_grad grad)
{
    if (rate->dataset_size < 1 || rate->dataset_size > POLLUX_BATCH_LIMIT ||
        !(rate->warmup_epochs >= 0 && isfinite (rate->warmup_epochs)))
        return NAN;
    double epoch = (double)rate->dataset_size / (double)rate->init_batch;
    double warmup = rate->warmup_epochs * rate_scale (rate) * epoch;
    double warmth = rate->progress < warmup ? rate->progress / warmup : 1;
    return square_root (rate, grad) * warmth;
}

static const struct pollux_rule rules[] = {
    {.name = "adascale", .factor = adascale},
    {.name = "adascale-groups", .factor = adascale, .by_group = true},
    {.name = "adamscale", .factor = adamscale, .adam = true},
    {.name = "linear", .factor = linear},
    {.name = "sqrt", .factor = square_root},
    {.name = "legw", .factor = legw},
};

static const size_t rule_count = sizeof (rules) / sizeof (rules[0]);

const struct pollux_rule *pollux_rule_at (size_t index)
{
    return index < rule_count ? &rules[index] : NULL;
}

const char *pollux_rule_name (const struct pollux_rule *rule)
{
    return rule->name;
}

bool pollux_rule_is_by_group (const struct pollux_rule *rule)
{
    return rule->by_group;
}

bool pollux_rule_is_adam (const struct pollux_rule *rule)
{
    return rule->adam;
}

int pollux_rule_by_name (const char *name, const struct pollux_rule **ret, struct pollux_error *err)
{
    for (size_t i = 0; i < rule_count; i++)
        if (strcmp (rules[i].name, name) == 0) {
            *ret = &rules[i];
            return 0;
        }
    char names[128] = "";
    for (size_t i = 0; i < rule_count; i++) {
        strncat (names, i == 0 ? "" : ", ", sizeof (names) - strlen (names) - 1);
        strncat (names, rules[i].name, sizeof (names) - strlen (names) - 1);
    }
    return fail (err, -ENOENT, "no learning-rate rule is called '%.40s'; there are: %s", name,
                 names);
}

static bool rate_legal (const struct pollux_rate *rate)
{
    return rate->init_batch >= 1 && rate->init_batch <= POLLUX_BATCH_LIMIT &&
           rate->total_batch >= 1 && rate->total_batch <= POLLUX_BATCH_LIMIT &&
           rate->progress >= 0 && isfinite (rate->progress);
}

static bool grad_legal (struct pollux_grad grad)
{
    return grad.sqr >= 0 && grad.var >= 0 && isfinite (grad.sqr + grad.var);
}

double pollux_rule_factor (const struct pollux_rule *rule, const struct pollux_rate *rate,
                           struct pollux_grad grad)
{
    return rate_legal (rate) && grad_legal (grad) ? rule->factor (rate, grad) : NAN;
}

double pollux_rate_advance (struct pollux_rate *rate, struct pollux_grad grad)
{
    if (!rate_legal (rate) || !grad_legal (grad))
        return NAN;
    double gain = rate_gain (rate, grad);
    rate->progress += gain;
    return gain;
}
