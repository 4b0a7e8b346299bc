/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops over a block of numbers, written once and compiled twice: a build is for any x86-64, and
 * nearly all of them have AVX2, with which gradients are read as fast as memory gives them.  No
 * fused multiply-add: it would round differently.  The loops run over whole blocks because gcc -O2
 * vectorises constant counts only; the lanes of the sum are written out because a compiler may not
 * reorder a sum.
 */
#include "model/norm_block.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__ ((always_inline))

INLINE void load_f32 (const void *data, size_t start, size_t count, double ret[restrict BLOCK])
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

INLINE void load_f64 (const void *data, size_t start, size_t count, double ret[restrict BLOCK])
{
    if (count < BLOCK)
        memset (ret, 0, BLOCK * sizeof (double));
    memcpy (ret, (const double *)data + start, count * sizeof (double));
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

INLINE void subtract (double x[restrict BLOCK], const double y[restrict BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++)
        x[i] -= y[i];
}

/* Four doubles that are computed with together; two and two where there is no AVX2. */
typedef double lanes __attribute__ ((vector_size (32)));

INLINE double dot (const double x[BLOCK], const double y[BLOCK])
{
    lanes sum[2] = {{0}, {0}};
    for (size_t i = 0; i < BLOCK; i += 8)
        for (size_t half = 0; half < 2; half++) {
            lanes a, b;
            memcpy (&a, x + i + 4 * half, sizeof (a));
            memcpy (&b, y + i + 4 * half, sizeof (b));
            sum[half] += a * b;
        }
    double even = (sum[0][0] + sum[0][2]) + (sum[1][0] + sum[1][2]);
    double odd = (sum[0][1] + sum[0][3]) + (sum[1][1] + sum[1][3]);
    return even + odd;
}

/* The loops above as functions for one kind of processor, and their table. */
#define NORM_BLOCK(kind, target)                                                                   \
    target static void load_f32_##kind (const void *data, size_t start, size_t count,              \
                                        double ret[BLOCK])                                         \
    {                                                                                              \
        load_f32 (data, start, count, ret);                                                        \
    }                                                                                              \
    target static void load_f64_##kind (const void *data, size_t start, size_t count,              \
                                        double ret[BLOCK])                                         \
    {                                                                                              \
        load_f64 (data, start, count, ret);                                                        \
    }                                                                                              \
    target static void invert_##kind (double x[BLOCK], double unbias, double eps)                  \
    {                                                                                              \
        invert (x, unbias, eps);                                                                   \
    }                                                                                              \
    target static void multiply_##kind (double x[restrict BLOCK], const double by[restrict BLOCK]) \
    {                                                                                              \
        multiply (x, by);                                                                          \
    }                                                                                              \
    target static void subtract_##kind (double x[restrict BLOCK], const double y[restrict BLOCK])  \
    {                                                                                              \
        subtract (x, y);                                                                           \
    }                                                                                              \
    target static double dot_##kind (const double x[BLOCK], const double y[BLOCK])                 \
    {                                                                                              \
        return dot (x, y);                                                                         \
    }                                                                                              \
    static const struct norm_block kind = {load_f32_##kind, load_f64_##kind, invert_##kind,        \
                                           multiply_##kind, subtract_##kind, dot_##kind};

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
