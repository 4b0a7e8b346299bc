/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Squared norms of gradients, accurate enough to be subtracted from one another.
 *
 * The noise estimator uses the difference of two squared norms that may be nearly equal.  So sums are
 * in double, also for float gradients (squares of floats below 1e-23 or above 1e+19 leave float's
 * range), in blocks: eight lanes within a block (norm_block.c), a compensated sum over the blocks.  The relative error of a squared norm stays below 70 roundings, 8e-15, for any length,
 * and is a few 1e-16 in practice.
 *
 *     array --load--> 512 doubles (in L1) --/ P--> 512 doubles --lanes--> block sum --> total
 */
#include "pollux/pollux.h"

#include <math.h>

#include "model/norm_block.h"

/* A gradient in the caller's type. */
struct array {
    const void *data;
    const struct norm_kind *kind;
};

static struct array array_f32 (const float *data)
{
    return (struct array){data, &norm_block_here ()->f32};
}

static struct array array_f64 (const double *data)
{
    return (struct array){data, &norm_block_here ()->f64};
}

/* Adam's P, reduced to what an element needs: P = sqrt (max (exp_avg_sq, floor) x unbias) + eps. */
struct precondition {
    bool active; /* else P = 1 */
    struct array exp_avg_sq;
    double floor, unbias, eps;
};

/* An element that is almost always 0 has a moment near 0, and would then be divided by eps: one such
 * gradient would exceed all others by many orders.  This part of the array's mean moment is the
 * least. */
static const double least_moment = 0.01;

static double array_mean (struct array array, size_t length)
{
    double x[BLOCK], sum = 0;
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t count = length - start < BLOCK ? length - start : BLOCK;
        array.kind->load (array.data, start, count, x);
        double block = 0;
        for (size_t i = 0; i < count; i++)
            block += x[i];
        sum += block;
    }
    return length > 0 ? sum / (double)length : 0;
}

/* Second moments of the first steps are not reliable: P = 1 before step 5. */
static const int64_t first_adam_step = 5;

/* False outside the domain. */
static bool precondition_init (struct array exp_avg_sq, size_t length,
                               const struct pollux_adam *adam, struct precondition *ret)
{
    *ret = (struct precondition){.active = false};
    if (!adam)
        return true;
    if (!(adam->beta2 >= 0 && adam->beta2 < 1 && adam->eps >= 0 && isfinite (adam->eps) &&
          adam->step >= 0))
        return false;
    if (adam->step < first_adam_step)
        return true;
    if (!exp_avg_sq.data)
        return false;
    /* 1 - beta2^step, accurate also if beta2 is very close to 1. */
    double correction = -expm1 ((double)adam->step * log (adam->beta2));
    *ret = (struct precondition){.active = true,
                                 .exp_avg_sq = exp_avg_sq,
                                 .floor = least_moment * array_mean (exp_avg_sq, length),
                                 .unbias = 1 / correction,
                                 .eps = adam->eps};
    return true;
}

/* A block of 1/P.  After the end of the array it is 1, so that zeros there stay zeros. */
static void block_inverse (const struct precondition *pre, size_t start, size_t count,
                           double ret[BLOCK])
{
    pre->exp_avg_sq.kind->load (pre->exp_avg_sq.data, start, count, ret);
    for (size_t i = 0; i < BLOCK; i++)
        ret[i] = ret[i] >= 0 && ret[i] < pre->floor ? pre->floor : ret[i];
    norm_block_here ()->invert (ret, pre->unbias, pre->eps);
    for (size_t i = count; i < BLOCK; i++)
        ret[i] = 1;
}

/* A block of g/P; inverse is 1/P. */
static void block_load (struct array g, const struct precondition *pre, const double inverse[BLOCK],
                        size_t start, size_t count, double ret[BLOCK])
{
    g.kind->load (g.data, start, count, ret);
    if (pre->active)
        norm_block_here ()->multiply (ret, inverse);
}

/* Neumaier's compensated sum: error is the sum of the rounding errors of value. */
struct sum {
    double value, error;
};

static void sum_add (struct sum *sum, double term)
{
    double next = sum->value + term;
    if (fabs (sum->value) >= fabs (term))
        sum->error += (sum->value - next) + term;
    else
        sum->error += (term - next) + sum->value;
    sum->value = next;
}

static double array_sqr (struct array g, size_t length, struct array exp_avg_sq,
                         const struct pollux_adam *adam)
{
    struct precondition pre;
    if (!precondition_init (exp_avg_sq, length, adam, &pre))
        return NAN;
    const struct norm_kind *doubles = &norm_block_here ()->f64;
    struct sum sqr = {0, 0};
    double x[BLOCK], inverse[BLOCK];
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t count = length - start < BLOCK ? length - start : BLOCK;
        if (!pre.active && count == BLOCK) {
            sum_add (&sqr, g.kind->sqr (g.data, start));
            continue;
        }
        if (pre.active)
            block_inverse (&pre, start, count, inverse);
        block_load (g, &pre, inverse, start, count, x);
        sum_add (&sqr, doubles->sqr (x, 0));
    }
    return sqr.value + sqr.error;
}

static struct pollux_pair array_pair (struct array g0, struct array g1, size_t length,
                                      struct array exp_avg_sq, const struct pollux_adam *adam)
{
    struct precondition pre;
    if (!precondition_init (exp_avg_sq, length, adam, &pre))
        return (struct pollux_pair){NAN, NAN};
    const struct norm_kind *doubles = &norm_block_here ()->f64;
    struct sum dot = {0, 0}, diff = {0, 0};
    double x[BLOCK], y[BLOCK], inverse[BLOCK];
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t count = length - start < BLOCK ? length - start : BLOCK;
        struct pollux_pair pair;
        if (!pre.active && count == BLOCK) {
            pair = g0.kind->pair (g0.data, g1.data, start);
        } else {
            if (pre.active)
                block_inverse (&pre, start, count, inverse);
            block_load (g0, &pre, inverse, start, count, x);
            block_load (g1, &pre, inverse, start, count, y);
            pair = doubles->pair (x, y, 0);
        }
        sum_add (&dot, pair.dot);
        sum_add (&diff, pair.diff_sqr);
    }
    return (struct pollux_pair){dot.value + dot.error, diff.value + diff.error};
}

double pollux_sqr_f32 (const float *g, size_t length, const float *exp_avg_sq,
                       const struct pollux_adam *adam)
{
    return array_sqr (array_f32 (g), length, array_f32 (exp_avg_sq), adam);
}

double pollux_sqr_f64 (const double *g, size_t length, const double *exp_avg_sq,
                       const struct pollux_adam *adam)
{
    return array_sqr (array_f64 (g), length, array_f64 (exp_avg_sq), adam);
}

double pollux_sqr_many_f32 (const float *const *arrays, const size_t *lengths, size_t count)
{
    struct sum sqr = {0, 0};
    for (size_t i = 0; i < count; i++)
        sum_add (&sqr, pollux_sqr_f32 (arrays[i], lengths[i], NULL, NULL));
    return sqr.value + sqr.error;
}

struct pollux_pair pollux_pair_f32 (const float *g0, const float *g1, size_t length,
                                    const float *exp_avg_sq, const struct pollux_adam *adam)
{
    return array_pair (array_f32 (g0), array_f32 (g1), length, array_f32 (exp_avg_sq), adam);
}

struct pollux_pair pollux_pair_f64 (const double *g0, const double *g1, size_t length,
                                    const double *exp_avg_sq, const struct pollux_adam *adam)
{
    return array_pair (array_f64 (g0), array_f64 (g1), length, array_f64 (exp_avg_sq), adam);
}
