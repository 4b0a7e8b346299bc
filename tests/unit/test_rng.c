/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random number generator: published outputs of its algorithms, and moments of its distributions.
 * The statistical bounds are five standard errors, with a fixed seed: the result is always the same,
 * and a wrong distribution misses them by far.
 */
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* First outputs of xoshiro256++ for state 1, 2, 3, 4, as other implementations test them. */
static void test_known_outputs (void **unused)
{
    static const uint64_t expected[] = {
        41943041u,
        58720359u,
        3588806011781223u,
        3591011842654386u,
        9228616714210784205u,
        9973669472204895162u,
        14011001112246962877u,
        12406186145184390807u,
        15849039046786891736u,
        10450023813501588000u,
    };
    (void)unused;
    struct rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof (expected) / sizeof (expected[0]); i++)
        assert_true (rng_next (&rng) == expected[i]);
}

static void test_known_seeding (void **unused)
{
    static const uint64_t expected[] = {1985237415132408290u, 2979275885539914483u,
                                        13511426838097143398u, 8488337342461049707u};
    (void)unused;
    struct rng rng = rng_seed (1477776061723855037u);
    assert_memory_equal (rng.state, expected, sizeof (expected));
}

static void test_copy_repeats_the_sequence (void **unused)
{
    (void)unused;
    struct rng rng = rng_seed (7);
    rng_gaussian (&rng);
    struct rng copy = rng;
    for (int i = 0; i < 100; i++)
        assert_true (rng_gaussian (&rng) == rng_gaussian (&copy));
}

static void test_streams_differ (void **unused)
{
    (void)unused;
    struct rng all[72];
    int count = 0;
    for (uint64_t seed = 0; seed < 8; seed++)
        for (uint64_t stream = 0; stream < 8; stream++)
            all[count++] = rng_stream (seed, stream);
    for (uint64_t seed = 0; seed < 8; seed++)
        all[count++] = rng_seed (seed);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal (all[i].state, all[j].state, sizeof (all[i].state));
}

static void test_moments (void **unused)
{
    (void)unused;
    enum { COUNT = 200000 };
    struct rng rng = rng_seed (1);
    double sum = 0, sum2 = 0, gauss = 0, gauss2 = 0, gauss3 = 0, gauss4 = 0;
    for (int i = 0; i < COUNT; i++) {
        double u = rng_uniform (&rng), g = rng_gaussian (&rng);
        assert_true (u >= 0 && u < 1);
        sum += u;
        sum2 += u * u;
        gauss += g;
        gauss2 += g * g;
        gauss3 += g * g * g;
        gauss4 += g * g * g * g;
    }
    double error = 5 / sqrt (COUNT); /* of a mean of unit variance */
    assert_true (fabs (sum / COUNT - 1. / 2) < error * sqrt (1. / 12));
    assert_true (fabs (sum2 / COUNT - 1. / 3) < error * sqrt (4. / 45));
    assert_true (fabs (gauss / COUNT) < error);
    assert_true (fabs (gauss2 / COUNT - 1) < error * sqrt (2));
    assert_true (fabs (gauss3 / COUNT) < error * sqrt (15));
    assert_true (fabs (gauss4 / COUNT - 3) < error * sqrt (96));
}

static void test_below (void **unused)
{
    (void)unused;
    enum { BOUND = 7, COUNT = 70000 };
    struct rng rng = rng_seed (2);
    int hits[BOUND] = {0};
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = rng_below (&rng, BOUND);
        assert_true (x < BOUND);
        hits[x]++;
    }
    double p = 1. / BOUND;
    for (int i = 0; i < BOUND; i++)
        assert_true (fabs (hits[i] - COUNT * p) < 5 * sqrt (COUNT * p * (1 - p)));
    assert_true (rng_below (&rng, 0) == 0);
    assert_true (rng_below (&rng, 1) == 0);

    /* Two thirds of 2^64: a plain remainder would hit the lower half two times in three. */
    uint64_t bound = UINT64_MAX / 3 * 2;
    int low = 0;
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = rng_below (&rng, bound);
        assert_true (x < bound);
        low += x < bound / 2;
    }
    assert_true (fabs (low - COUNT / 2.) < 5 * sqrt (COUNT / 4.));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_known_outputs),
        cmocka_unit_test (test_known_seeding),
        cmocka_unit_test (test_copy_repeats_the_sequence),
        cmocka_unit_test (test_streams_differ),
        cmocka_unit_test (test_moments),
        cmocka_unit_test (test_below),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
