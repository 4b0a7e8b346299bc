/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over a block of numbers, written once and compiled twice: for every x86-64, and for those
 * with AVX2, where they reach the memory bandwidth.  No fused multiply-add: it would round
 * differently.  The loops run over whole blocks because gcc -O2 vectorises only constant counts; the
 * lanes of the sums are explicit because a compiler may not reorder a sum.
 */
#include "model/norm_block.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__ ((always_inline))

/* A vector of four doubles; two vectors of two without AVX2. */
typedef double lanes __attribute__ ((vector_size (32)));
typedef float floats __attribute__ ((vector_size (16)));

INLINE void load_f32 (const float *from, size_t count, double ret[restrict BLOCK])
{
    float padded[BLOCK];
    if (count < BLOCK) {
        memset (padded, 0, sizeof (padded));
        memcpy (padded, from, count * sizeof (float));
        from = padded;
    }
    for (size_t i = 0; i < BLOCK; i++)
        ret[i] = (double)from[i];
}

INLINE void load_f64 (const double *from, size_t count, double ret[restrict BLOCK])
{
    if (count < BLOCK)
        memset (ret, 0, BLOCK * sizeof (double));
    memcpy (ret, from, count * sizeof (double));
}

INLINE void load (bool f64, const void *data, size_t start, size_t count, double ret[BLOCK])
{
    if (f64)
        load_f64 ((const double *)data + start, count, ret);
    else
        load_f32 ((const float *)data + start, count, ret);
}

/* Elements i to i + 3. */
INLINE void four (bool f64, const void *data, size_t i, lanes *ret)
{
    floats narrow;
    if (f64) {
        memcpy (ret, (const double *)data + i, sizeof (*ret));
        return;
    }
    memcpy (&narrow, (const float *)data + i, sizeof (narrow));
    *ret = __builtin_convertvector(narrow, lanes);
}

INLINE double total (const lanes sum[2])
{
    double even = (sum[0][0] + sum[0][2]) + (sum[1][0] + sum[1][2]);
    double odd = (sum[0][1] + sum[0][3]) + (sum[1][1] + sum[1][3]);
    return even + odd;
}

INLINE double sqr (bool f64, const void *g, size_t start)
{
    lanes sum[2] = {{0}, {0}};
    for (size_t i = start; i < start + BLOCK; i += 8)
        for (size_t half = 0; half < 2; half++) {
            lanes x;
            four (f64, g, i + 4 * half, &x);
            sum[half] += x * x;
        }
    return total (sum);
}

INLINE struct pollux_pair pair (bool f64, const void *g0, const void *g1, size_t start)
{
    lanes dot[2] = {{0}, {0}}, diff[2] = {{0}, {0}};
    for (size_t i = start; i < start + BLOCK; i += 8)
        for (size_t half = 0; half < 2; half++) {
            lanes x, y;
            four (f64, g0, i + 4 * half, &x);
            four (f64, g1, i + 4 * half, &y);
            dot[half] += x * y;
            diff[half] += (x - y) * (x - y);
        }
    return (struct pollux_pair){total (dot), total (diff)};
}

INLINE void invert (double x[BLOCK], double unbias, double eps)
{
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = 1 / (sqrt (x[i] * unbias) + eps);
}

INLINE void multiply (double x[restrict BLOCK], const double by[restrict BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++)
        x[i] *= by[i];
}

/* The loops above as functions for one type on one kind of processor. */
#define NORM_KIND(kind, target, f64)                                                               \
    target static void load_##kind (const void *data, size_t start, size_t count,                  \
                                    double ret[BLOCK])                                             \
    {                                                                                              \
        load (f64, data, start, count, ret);                                                       \
    }                                                                                              \
    target static double sqr_##kind (const void *g, size_t start)                                  \
    {                                                                                              \
        return sqr (f64, g, start);                                                                \
    }                                                                                              \
    target static struct pollux_pair pair_##kind (const void *g0, const void *g1, size_t start)    \
    {                                                                                              \
        return pair (f64, g0, g1, start);                                                          \
    }

/* All of them for one kind of processor. */
#define NORM_BLOCK(kind, target)                                                                   \
    NORM_KIND (kind##_f32, target, false)                                                          \
    NORM_KIND (kind##_f64, target, true)                                                           \
    target static void invert_##kind (double x[BLOCK], double unbias, double eps)                  \
    {                                                                                              \
        invert (x, unbias, eps);                                                                   \
    }                                                                                              \
    target static void multiply_##kind (double x[restrict BLOCK], const double by[restrict BLOCK]) \
    {                                                                                              \
        multiply (x, by);                                                                          \
    }                                                                                              \
    static const struct norm_block kind = {                                                        \
        {load_##kind##_f32, sqr_##kind##_f32, pair_##kind##_f32},                                  \
        {load_##kind##_f64, sqr_##kind##_f64, pair_##kind##_f64},                                  \
        invert_##kind,                                                                             \
        multiply_##kind};

NORM_BLOCK (plain, )
#ifdef __x86_64__
NORM_BLOCK (avx2, __attribute__ ((target ("avx2"))))
#endif

const struct norm_block *norm_block_here (void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports ("avx2"))
        return &avx2;
#endif
    return &plain;
}

const struct norm_block *norm_block_plain (void)
{
    return &plain;
}
