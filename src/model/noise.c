/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient-noise estimator: from squared norms to (sqr, var) at batch M0.
 *
 * n micro-gradients with mean gbar give S = mean |g_i|^2 and T = |gbar|^2.  The variance of gbar,
 * at batch M, is estimated by e = (S - T) / (n - 1); then
 *
 *     sqr = T - e = (n T - S) / (n - 1)                     var = e M/M0
 *
 * in this order: T - e cannot overflow like n T, and does not cancel like n T - S.  S - T does cancel
 * if the noise is small, but S and T are correct to 1e-14 (norm.c), and a var below
 * 1e-12 (sqr + var) is raised to that value, so rounding errors are not taken for noise.
 *
 * The averaging window is in samples, not in updates: theta = 0.999^(M/M0).  Instead of the running
 * sums x and w, the quotient x/w is stored beside w: the average of one value is exactly that value,
 * and x cannot underflow.
 */
#include "model/noise.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decay per M0 samples: the average is over about 1000 updates with batch M0. */
static const double smoothing = 0.999;

/* Rounding in S - T, and in float gradients, looks like noise: a smaller fraction of sqr + var cannot
 * be measured. */
static const double var_floor = 1e-12;

/* Largest ratio of |mean|^2 to the mean of |.|^2 by rounding, for example of 8-bit gradients. */
static const double mean_tolerance = 1.1;

int pollux_noise_new (int groups, int64_t init_batch, struct pollux_noise **ret,
                      struct pollux_error *err)
{
    if (groups < 1 || groups > POLLUX_GROUPS_LIMIT)
        return fail (err, -EINVAL, "noise estimator: parameter groups must be 1..%d, got %d",
                     POLLUX_GROUPS_LIMIT, groups);
    if (init_batch < 1 || init_batch > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL, "noise estimator: the initial batch must be 1..2^40, got %lld",
                     (long long)init_batch);
    struct pollux_noise *noise =
        calloc (1, sizeof (*noise) + 2 * (size_t)groups * sizeof (noise->average[0]));
    if (!noise)
        return fail (err, -ENOMEM, "noise estimator: no memory for %d groups", groups);
    noise->groups = groups;
    noise->next = noise->average + groups;
    noise->init_batch = init_batch;
    *ret = noise;
    return 0;
}

void pollux_noise_free (struct pollux_noise *noise)
{
    free (noise);
}

/* Weights of the old average and of the new value (keep + take = 1), and the new sum of weights w. */
struct blend {
    double keep, take, weight;
};

static struct blend blend_make (double weight, double scale)
{
    double log_theta = scale * log (smoothing);
    double theta = exp (log_theta), decay = -expm1 (log_theta); /* 1 - theta, accurate if tiny */
    double next = fmin (theta * weight + decay, 1);             /* at most 1 with every libm */
    return (struct blend){theta * weight / next, decay / next, next};
}

static int fail_skip (struct pollux_error *err, int group, const char *what, double value)
{
    return fail (err, -EDOM,
                 "gradient noise: group %d: %s is %g; skip this update entirely, also in the "
                 "optimizer",
                 group, what, value);
}

/* An update is added completely or not at all: the new averages of all groups are computed first and
 * stored only if none has failed. */
static int next_set (struct pollux_noise *noise, int group, struct blend blend,
                     struct pollux_grad value, struct pollux_error *err)
{
    const struct pollux_grad *average = &noise->average[group];
    struct pollux_grad next = {.sqr = blend.keep * average->sqr + blend.take * value.sqr,
                               .var = blend.keep * average->var + blend.take * value.var};
    if (!isfinite (next.sqr) || !isfinite (next.var))
        return fail_skip (err, group, "the variance, out of the range of doubles,", next.var);
    noise->next[group] = next;
    return 0;
}

static void next_commit (struct pollux_noise *noise, struct blend blend)
{
    memcpy (noise->average, noise->next, (size_t)noise->groups * sizeof (noise->average[0]));
    noise->weight = blend.weight;
}

struct pollux_grad noise_estimate (double micro_sqr, double mean_sqr, double n, double scale)
{
    double excess = (micro_sqr - mean_sqr) / (n - 1);
    return (struct pollux_grad){.sqr = mean_sqr - excess, .var = excess * scale};
}

static int group_check (int group, double micro_sqr, double mean_sqr, struct pollux_error *err)
{
    if (!isfinite (micro_sqr))
        return fail_skip (err, group, "the micro-gradients' squared norm", micro_sqr);
    if (!isfinite (mean_sqr))
        return fail_skip (err, group, "the mean gradient's squared norm", mean_sqr);
    if (micro_sqr < 0 || mean_sqr < 0)
        return fail (err, -EINVAL,
                     "gradient noise: group %d: squared norms cannot be negative, got %g and %g",
                     group, micro_sqr, mean_sqr);
    if (mean_sqr > micro_sqr * mean_tolerance)
        return fail (err, -EINVAL,
                     "gradient noise: group %d: the mean gradient's squared norm %g is above the "
                     "micro-gradients' mean %g; was a sum of gradients passed, not their mean?",
                     group, mean_sqr, micro_sqr);
    return 0;
}

int pollux_noise_update (struct pollux_noise *noise, int replicas, struct pollux_batch batch,
                         const double *micro_sqr, const double *mean_sqr, struct pollux_error *err)
{
    if (replicas < 1 || replicas > POLLUX_REPLICAS_LIMIT)
        return fail (err, -EINVAL, "gradient noise: replicas must be 1..%d, got %d",
                     POLLUX_REPLICAS_LIMIT, replicas);
    double n = (double)replicas * ((double)batch.s + 1);
    double total = n * (double)batch.m;
    if (batch.m < 1 || batch.s < 0 || total > (double)POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL,
                     "gradient noise: m must be at least 1, s at least 0 and K m (s+1) at most "
                     "2^40, got K = %d, m = %lld, s = %lld",
                     replicas, (long long)batch.m, (long long)batch.s);
    if (n < 2)
        return fail (err, -EINVAL,
                     "gradient noise: one micro-gradient does not show its noise; compare it with "
                     "the previous update's by pollux_noise_update_single");

    /* Averages with n = 1 are biased: one unbiased value replaces them. */
    double scale = total / (double)noise->init_batch;
    struct blend blend = blend_make (noise->biased ? 0 : noise->weight, scale);

    for (int g = 0; g < noise->groups; g++) {
        int rc = group_check (g, micro_sqr[g], mean_sqr[g], err);
        if (rc == 0)
            rc = next_set (noise, g, blend, noise_estimate (micro_sqr[g], mean_sqr[g], n, scale),
                           err);
        if (rc < 0)
            return rc;
    }
    next_commit (noise, blend);
    noise->biased = false;
    noise->kept_m = 0;
    return 0;
}

/* The value of one group from two updates of one micro-gradient each: the formulas above with n = 2,
 * so its weight is that of the samples of both. */
static struct pollux_grad group_difference (double dot, double diff_sqr, double scale)
{
    return (struct pollux_grad){.sqr = dot, .var = scale * diff_sqr / 2};
}

static int difference_check (int group, double dot, double diff_sqr, struct pollux_error *err)
{
    if (!isfinite (dot))
        return fail_skip (err, group, "the product of two gradients", dot);
    if (!isfinite (diff_sqr))
        return fail_skip (err, group, "the squared difference of two gradients", diff_sqr);
    if (diff_sqr < 0)
        return fail (err, -EINVAL,
                     "gradient noise: group %d: a squared difference cannot be negative, got %g",
                     group, diff_sqr);
    return 0;
}

int pollux_noise_update_single (struct pollux_noise *noise, int64_t m, const double *dot,
                                const double *diff_sqr, struct pollux_error *err)
{
    if (m < 1 || m > POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL, "gradient noise: m must be 1..2^40, got %lld", (long long)m);
    if (!dot != !diff_sqr)
        return fail (err, -EINVAL, "gradient noise: %s is missing; pass both or none",
                     dot ? "diff_sqr" : "dot");
    if (!dot || !pollux_noise_paired (noise, m)) {
        noise->kept_m = m;
        return 0;
    }

    double scale = (double)m / (double)noise->init_batch;
    struct blend blend = blend_make (noise->weight, 2 * scale);
    for (int g = 0; g < noise->groups; g++) {
        int rc = difference_check (g, dot[g], diff_sqr[g], err);
        if (rc == 0)
            rc = next_set (noise, g, blend, group_difference (dot[g], diff_sqr[g], scale), err);
        if (rc == -EDOM)
            noise->kept_m = 0; /* the inf may be in g0: do not compare with it again */
        if (rc < 0)
            return rc;
    }
    next_commit (noise, blend);
    noise->biased = true;
    return 0;
}

bool pollux_noise_paired (const struct pollux_noise *noise, int64_t m)
{
    return noise->kept_m > 0 && noise->kept_m == m;
}

/* An average for the caller: random errors can make it negative. */
static struct pollux_grad grad_clip (struct pollux_grad average)
{
    double sqr = fmax (average.sqr, 0), var = fmax (average.var, 0);
    return (struct pollux_grad){.sqr = sqr, .var = fmax (var, var_floor * sqr + var_floor * var)};
}

/* Before the first estimate: no noise, so that no batch larger than M0 has an advantage. */
static const struct pollux_grad unknown = {.sqr = 1, .var = 0};

struct pollux_grad pollux_noise_grad (const struct pollux_noise *noise)
{
    if (!(noise->weight > 0))
        return unknown;
    struct pollux_grad sum = {.sqr = 0, .var = 0};
    for (int g = 0; g < noise->groups; g++) {
        struct pollux_grad grad = grad_clip (noise->average[g]);
        sum.sqr += grad.sqr;
        sum.var += grad.var;
    }
    return sum;
}

struct pollux_grad pollux_noise_group (const struct pollux_noise *noise, int group)
{
    if (group < 0 || group >= noise->groups)
        return (struct pollux_grad){.sqr = NAN, .var = NAN};
    return noise->weight > 0 ? grad_clip (noise->average[group]) : unknown;
}

bool pollux_noise_biased (const struct pollux_noise *noise)
{
    return noise->biased;
}

double pollux_noise_weight (const struct pollux_noise *noise)
{
    return noise->weight;
}
