/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms of gradients, exact enough to be subtracted from one another.
 *
 * The noise estimator lives on the difference of two squared norms that may be nearly equal, so
 * they are summed in double also for float gradients (whose squares leave float's range at 1e-23
 * and 1e+19), in blocks: eight lanes within a block, a compensated sum over the blocks.  The
 * relative error of a squared norm stays below 70 roundings, 8e-15, for any length, and is a few
 * 1e-16 in practice.  The lanes are written out because a compiler may not reorder a sum.
 *
 *     array --load--> 512 doubles (in L1) --/ P--> 512 doubles --lanes--> block sum --> total
 */
#include "pollux/pollux.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512 };

/* Two doubles that are computed with together, on x86-64 and arm64 alike. */
typedef double lanes __attribute__ ((vector_size (16)));

/* A gradient in the caller's type, and how a block of it becomes doubles: count elements, then
 * zeros.  The loops run over whole blocks because gcc -O2 vectorises constant counts only. */
struct array {
    const void *data;
    void (*load) (const void *data, size_t start, size_t count, double ret[restrict BLOCK]);
};

static void load_f32 (const void *data, size_t start, size_t count, double ret[restrict BLOCK])
{
    const float *from = (const float *)data + start;
    float padded[BLOCK];
    if (count < BLOCK) {
        memset (padded, 0, sizeof (padded));
        memcpy (padded, from, count * sizeof (float));
        from = padded;
    }
    for (size_t i = 0; i < BLOCK; i++)
        ret[i] = (double)from[i];
}

static void load_f64 (const void *data, size_t start, size_t count, double ret[restrict BLOCK])
{
    if (count < BLOCK)
        memset (ret, 0, BLOCK * sizeof (double));
    memcpy (ret, (const double *)data + start, count * sizeof (double));
}

static struct array array_f32 (const float *data)
{
    return (struct array){data, load_f32};
}

static struct array array_f64 (const double *data)
{
    return (struct array){data, load_f64};
}

/* Adam's P, reduced to what an element needs: P = sqrt (exp_avg_sq x unbias) + eps. */
struct precondition {
    bool active; /* else P = 1 */
    struct array exp_avg_sq;
    double unbias, eps;
};

/* The first steps' second moments are too few to divide by: P = 1 before step 5. */
static const int64_t first_adam_step = 5;

/* False outside the domain. */
static bool precondition_init (struct array exp_avg_sq, const struct pollux_adam *adam,
                               struct precondition *ret)
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
    /* 1 - beta2^step, also where beta2 is so near 1 that the power rounds to it. */
    double correction = -expm1 ((double)adam->step * log (adam->beta2));
    *ret = (struct precondition){true, exp_avg_sq, 1 / correction, adam->eps};
    return true;
}

/* A block of 1/P.  Behind the end it is 1, so that zeros there stay zeros. */
static void block_inverse (const struct precondition *pre, size_t start, size_t count,
                           double ret[BLOCK])
{
    const double unbias = pre->unbias, eps = pre->eps;
    pre->exp_avg_sq.load (pre->exp_avg_sq.data, start, count, ret);
    for (size_t i = 0; i < BLOCK; i++)
        ret[i] = 1 / (sqrt (ret[i] * unbias) + eps);
    for (size_t i = count; i < BLOCK; i++)
        ret[i] = 1;
}

static void block_multiply (double x[restrict BLOCK], const double by[restrict BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++)
        x[i] *= by[i];
}

static void block_subtract (double x[restrict BLOCK], const double y[restrict BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++)
        x[i] -= y[i];
}

static lanes lanes_product (const double *x, const double *y)
{
    lanes a, b;
    memcpy (&a, x, sizeof (a));
    memcpy (&b, y, sizeof (b));
    return a * b;
}

static double block_dot (const double x[BLOCK], const double y[BLOCK])
{
    lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t i = 0; i < BLOCK; i += 8) {
        s0 += lanes_product (x + i, y + i);
        s1 += lanes_product (x + i + 2, y + i + 2);
        s2 += lanes_product (x + i + 4, y + i + 4);
        s3 += lanes_product (x + i + 6, y + i + 6);
    }
    lanes all = (s0 + s1) + (s2 + s3);
    return all[0] + all[1];
}

/* Neumaier's sum: error holds what the roundings of value have lost. */
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
    if (!precondition_init (exp_avg_sq, adam, &pre))
        return NAN;
    struct sum sqr = {0, 0};
    double x[BLOCK], inverse[BLOCK];
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t count = length - start < BLOCK ? length - start : BLOCK;
        g.load (g.data, start, count, x);
        if (pre.active) {
            block_inverse (&pre, start, count, inverse);
            block_multiply (x, inverse);
        }
        sum_add (&sqr, block_dot (x, x));
    }
    return sqr.value + sqr.error;
}

static struct pollux_pair array_pair (struct array g0, struct array g1, size_t length,
                                      struct array exp_avg_sq, const struct pollux_adam *adam)
{
    struct precondition pre;
    if (!precondition_init (exp_avg_sq, adam, &pre))
        return (struct pollux_pair){NAN, NAN};
    struct sum dot = {0, 0}, diff = {0, 0};
    double x[BLOCK], y[BLOCK], inverse[BLOCK];
    for (size_t start = 0; start < length; start += BLOCK) {
        size_t count = length - start < BLOCK ? length - start : BLOCK;
        g0.load (g0.data, start, count, x);
        g1.load (g1.data, start, count, y);
        if (pre.active) {
            block_inverse (&pre, start, count, inverse);
            block_multiply (x, inverse);
            block_multiply (y, inverse);
        }
        sum_add (&dot, block_dot (x, y));
        block_subtract (x, y);
        sum_add (&diff, block_dot (x, x));
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
