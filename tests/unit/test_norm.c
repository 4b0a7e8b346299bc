/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms of gradients against plain loops in long double, at all lengths around the block size,
 * at the ends of the floats' range, and with Adam's preconditioner.
 */
#include "unit.h"

#include "base/rng.h"
#include "model/norm_block.h"
#include "pollux/pollux.h"

enum { LENGTH = 3000 };

struct arrays {
    float f32[3][LENGTH]; /* g0, g1, exp_avg_sq */
    double f64[3][LENGTH];
};

static void arrays_fill (struct arrays *arrays, double size)
{
    struct rng rng = rng_seed (11);
    for (int i = 0; i < LENGTH; i++) {
        arrays->f32[0][i] = (float)(size * rng_gaussian (&rng));
        arrays->f32[1][i] = (float)(size * (1 + rng_gaussian (&rng)));
        arrays->f32[2][i] = (float)(size * size * rng_uniform (&rng));
        for (int a = 0; a < 3; a++)
            arrays->f64[a][i] = (double)arrays->f32[a][i];
    }
}

struct expected {
    double sqr, dot, dot_size, diff_sqr;
};

/* The oracle: the formulas, element by element. */
static struct expected plain (const struct arrays *arrays, size_t length,
                              const struct pollux_adam *adam)
{
    long double sqr = 0, dot = 0, dot_size = 0, diff = 0, mean = 0;
    for (size_t i = 0; i < length; i++)
        mean += (long double)arrays->f64[2][i] / (long double)length;
    for (size_t i = 0; i < length; i++) {
        long double p = 1;
        if (adam && adam->step >= 5) {
            long double log_beta2 = log1pl ((long double)adam->beta2 - 1);
            long double correction = -expm1l ((long double)adam->step * log_beta2);
            long double v = fmaxl ((long double)arrays->f64[2][i], mean / 100);
            p = sqrtl (v / correction) + (long double)adam->eps;
        }
        long double x = (long double)arrays->f64[0][i] / p;
        long double y = (long double)arrays->f64[1][i] / p;
        sqr += x * x;
        dot += x * y;
        dot_size += fabsl (x * y);
        diff += (x - y) * (x - y);
    }
    return (struct expected){(double)sqr, (double)dot, (double)dot_size, (double)diff};
}

static void check (const struct arrays *a, size_t length, const struct pollux_adam *adam)
{
    const double tolerance = 1e-14;
    struct expected expected = plain (a, length, adam);
    double sqr[2] = {pollux_sqr_f32 (a->f32[0], length, a->f32[2], adam),
                     pollux_sqr_f64 (a->f64[0], length, a->f64[2], adam)};
    struct pollux_pair pair[2] = {
        pollux_pair_f32 (a->f32[0], a->f32[1], length, a->f32[2], adam),
        pollux_pair_f64 (a->f64[0], a->f64[1], length, a->f64[2], adam),
    };
    assert_true (relative (sqr[0], expected.sqr) <= tolerance);
    assert_true (fabs (pair[0].dot - expected.dot) <= tolerance * expected.dot_size);
    assert_true (relative (pair[0].diff_sqr, expected.diff_sqr) <= tolerance);
    /* One path for both types. */
    assert_true (sqr[0] == sqr[1]);
    assert_true (pair[0].dot == pair[1].dot);
    assert_true (pair[0].diff_sqr == pair[1].diff_sqr);
}

static void test_lengths (void **unused)
{
    (void)unused;
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 511, 512, 513, 1023, 1024, 1025, LENGTH};
    static const struct pollux_adam adam = {0.999, 1e-8, 100};
    struct arrays *arrays = malloc (sizeof (*arrays));
    arrays_fill (arrays, 1);
    for (size_t i = 0; i < COUNT (lengths); i++) {
        check (arrays, lengths[i], NULL);
        check (arrays, lengths[i], &adam);
    }
    assert_true (pollux_sqr_f32 (NULL, 0, NULL, NULL) == 0);
    free (arrays);
}

static void test_many (void **unused)
{
    (void)unused;
    float a[3] = {1, 2, 3}, b[2] = {4, 5}, inf[1] = {INFINITY};
    const float *arrays[] = {a, b, inf};
    size_t lengths[] = {3, 2, 1};
    assert_true (pollux_sqr_many_f32 (NULL, NULL, 0) == 0);
    assert_true (pollux_sqr_many_f32 (arrays, lengths, 2) == 1 + 4 + 9 + 16 + 25);
    assert_true (!isfinite (pollux_sqr_many_f32 (arrays, lengths, 3)));
}

static void test_sizes (void **unused)
{
    (void)unused;
    /* Squares of the first three and of the last leave the range of floats; exp_avg_sq of 1e-20
     * gradients is a denormal float. */
    static const double sizes[] = {1e-30, 1e-25, 1e-20, 1e-10, 1, 1e+10, 1e+18, 1e+20};
    static const struct pollux_adam adam[] = {
        {0.999, 1e-8, 100}, {0.999, 0, 5},         {0.999, 1e-8, 4},
        {0, 1e-8, 1000},    {1 - 1e-12, 1e-30, 5}, {0.9, 1e-8, INT64_MAX},
    };
    struct arrays *arrays = malloc (sizeof (*arrays));
    for (size_t i = 0; i < COUNT (sizes); i++) {
        arrays_fill (arrays, sizes[i]);
        check (arrays, LENGTH, NULL);
        for (size_t j = 0; j < COUNT (adam); j++) {
            bool defined = true; /* eps = 0 divides by zero if exp_avg_sq underflowed */
            for (int k = 0; k < LENGTH; k++)
                defined &= adam[j].eps > 0 || arrays->f32[2][k] > 0;
            /* 1e+20 gradients have an exp_avg_sq beyond the floats: nothing to compare. */
            if (defined && sizes[i] < 1e+19)
                check (arrays, LENGTH, &adam[j]);
        }
    }
    free (arrays);
}

/* In float the sum would stop growing long before the end. */
static void test_long_arrays (void **unused)
{
    (void)unused;
    const size_t length = 1 << 22;
    float *g = malloc (length * sizeof (*g));
    for (size_t i = 0; i < length; i++)
        g[i] = 0.1f;
    double one = (double)0.1f * (double)0.1f;
    assert_true (relative (pollux_sqr_f32 (g, length, NULL, NULL), one * (double)length) < 1e-14);
    struct pollux_pair pair = pollux_pair_f32 (g, g, length, NULL, NULL);
    assert_true (relative (pair.dot, one * (double)length) < 1e-14);
    assert_true (pair.diff_sqr == 0);
    /* A running sum would round each of the small squares, 82 instead of 81.92 ulp. */
    g[0] = 1e+6f;
    double small = pollux_sqr_f32 (g, length, NULL, NULL) - 1e+12;
    assert_true (relative (small, one * (double)(length - 1)) < 1e-6);
    free (g);
}

static void test_not_finite (void **unused)
{
    (void)unused;
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    static const struct pollux_adam adam = {0.999, 1e-8, 100};
    struct arrays *arrays = malloc (sizeof (*arrays));
    for (size_t i = 0; i < COUNT (bad); i++)
        for (size_t at = 0; at < LENGTH; at += 599) {
            arrays_fill (arrays, 1);
            arrays->f32[0][at] = bad[i];
            const float *g0 = arrays->f32[0], *g1 = arrays->f32[1], *v = arrays->f32[2];
            assert_true (!isfinite (pollux_sqr_f32 (g0, LENGTH, NULL, NULL)));
            assert_true (!isfinite (pollux_sqr_f32 (g0, LENGTH, v, &adam)));
            assert_true (!isfinite (pollux_pair_f32 (g0, g1, LENGTH, NULL, NULL).dot));
            assert_true (!isfinite (pollux_pair_f32 (g1, g0, LENGTH, NULL, NULL).diff_sqr));
        }
    free (arrays);
}

static void test_adam_domain (void **unused)
{
    (void)unused;
    static const struct pollux_adam illegal[] = {
        {1, 1e-8, 10},         {-0.1, 1e-8, 10}, {NAN, 1e-8, 10},   {0.999, -1e-8, 10},
        {0.999, INFINITY, 10}, {0.999, NAN, 10}, {0.999, 1e-8, -1},
    };
    static const struct pollux_adam legal = {0.999, 1e-8, 10}, early = {0.999, 1e-8, 4};
    const float g[2] = {3, 4}, v[2] = {1, 1};
    for (size_t i = 0; i < COUNT (illegal); i++) {
        assert_true (isnan (pollux_sqr_f32 (g, 2, v, &illegal[i])));
        assert_true (isnan (pollux_pair_f32 (g, g, 2, v, &illegal[i]).dot));
        assert_true (isnan (pollux_pair_f32 (g, g, 2, v, &illegal[i]).diff_sqr));
    }
    assert_true (isnan (pollux_sqr_f32 (g, 2, NULL, &legal)));
    assert_true (pollux_sqr_f32 (g, 2, NULL, &early) == 25);
    assert_true (pollux_sqr_f32 (g, 2, NULL, NULL) == 25);
    const float negative[2] = {1, -1};
    assert_true (isnan (pollux_sqr_f32 (g, 2, negative, &legal)));
}

/* The loops for this processor and those for every processor give the same bits. */
static void test_processors (void **unused)
{
    (void)unused;
    static const size_t counts[] = {0, 1, 7, 100, BLOCK - 1, BLOCK};
    const struct norm_block *each[2] = {norm_block_here (), norm_block_plain ()};
    struct arrays *arrays = malloc (sizeof (*arrays));
    struct {
        double x[BLOCK], y[BLOCK], sqr[3];
        struct pollux_pair pair[3];
    } got[2];
    for (int size = -30; size <= 15; size += 15) {
        arrays_fill (arrays, pow (10, size));
        for (size_t c = 0; c < COUNT (counts); c++) {
            for (int i = 0; i < 2; i++) {
                each[i]->f64.load (arrays->f64[2], 3, counts[c], got[i].x);
                each[i]->f32.load (arrays->f32[0], 3, counts[c], got[i].y);
                each[i]->invert (got[i].x, 1.7, 1e-8);
                each[i]->multiply (got[i].y, got[i].x);
                got[i].sqr[0] = each[i]->f32.sqr (arrays->f32[0], 5);
                got[i].sqr[1] = each[i]->f64.sqr (arrays->f64[0], 5);
                got[i].sqr[2] = each[i]->f64.sqr (got[i].y, 0);
                got[i].pair[0] = each[i]->f32.pair (arrays->f32[0], arrays->f32[1], 5);
                got[i].pair[1] = each[i]->f64.pair (arrays->f64[0], arrays->f64[1], 5);
                got[i].pair[2] = each[i]->f64.pair (got[i].x, got[i].y, 0);
            }
            assert_memory_equal (&got[0], &got[1], sizeof (got[0]));
        }
    }
    free (arrays);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_lengths),    cmocka_unit_test (test_many),
        cmocka_unit_test (test_sizes),      cmocka_unit_test (test_long_arrays),
        cmocka_unit_test (test_not_finite), cmocka_unit_test (test_adam_domain),
        cmocka_unit_test (test_processors),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
