/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles and concurrency against plain definitions.
 */
#include "unit.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "sim/mean_concurrency.h"

static void quantiles_interpolate (void **state)
{
    (void)state;
    const struct {
        double values[5];
        int count;
        double q, want;
    } cases[] = {
        {{3}, 1, 0.99, 3},
        {{2, 1}, 2, 0.5, 1.5},
        {{5, 1, 3}, 3, 0.5, 3},
        {{4, 1, 2, 3}, 4, 0.5, 2.5},
        {{50, 10, 20, 40, 30}, 5, 0.99, 49.6},
        {{50, 10, 20, 40, 30}, 5, 0, 10},
        {{50, 10, 20, 40, 30}, 5, 1, 50},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        double values[5];
        memcpy (values, cases[i].values, sizeof (values));
        assert_true (fabs (quantile (values, cases[i].count, cases[i].q) - cases[i].want) < 1e-12);
    }
    assert_true (isnan (quantile (NULL, 0, 0.5)));
}

static void concurrency_is_the_mean_overlap (void **state)
{
    (void)state;
    enum { STAYS = 60 };
    struct rng rng = rng_seed (6);
    struct stay stays[STAYS];
    double concurrency[STAYS];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < STAYS; i++) {
            stays[i].from_s = (double)rng_below (&rng, 100);
            stays[i].to_s = stays[i].from_s + 1 + (double)rng_below (&rng, 50);
        }
        assert_int_equal (0, mean_concurrency (stays, STAYS, concurrency));
        for (int i = 0; i < STAYS; i++) {
            double area = 0;
            for (int j = 0; j < STAYS; j++) {
                double from = fmax (stays[i].from_s, stays[j].from_s);
                double to = fmin (stays[i].to_s, stays[j].to_s);
                area += fmax (to - from, 0);
            }
            assert_true (fabs (concurrency[i] - area / (stays[i].to_s - stays[i].from_s)) < 1e-9);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (quantiles_interpolate),
        cmocka_unit_test (concurrency_is_the_mean_overlap),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
