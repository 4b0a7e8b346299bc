/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning-rate rules compared with their formulas, progress with different batches, and both with an
 * estimator, as in a training loop.
 */
#include "unit.h"

#include <errno.h>

#include "pollux/pollux.h"

static const struct pollux_rule *rule (const char *name)
{
    const struct pollux_rule *ret = NULL;
    assert_int_equal (pollux_rule_by_name (name, &ret, NULL), 0);
    assert_string_equal (pollux_rule_name (ret), name);
    return ret;
}

static void test_names (void **unused)
{
    (void)unused;
    static const char *const names[] = {
        "adascale", "adascale-groups", "adamscale", "linear", "sqrt", "legw"};
    for (size_t i = 0; i < COUNT (names); i++)
        assert_ptr_equal (pollux_rule_at (i), rule (names[i]));
    assert_null (pollux_rule_at (COUNT (names)));
    assert_null (pollux_rule_at (SIZE_MAX));

    static const char *const unknown[] = {"", "AdaScale", "adascale ", "adasc", "%s%n"};
    for (size_t i = 0; i < COUNT (unknown); i++) {
        const struct pollux_rule *ret = NULL;
        struct pollux_error err;
        assert_int_equal (pollux_rule_by_name (unknown[i], &ret, &err), -ENOENT);
        assert_null (ret);
        assert_non_null (strstr (err.text, unknown[i]));
        for (size_t j = 0; j < COUNT (names); j++)
            assert_non_null (strstr (err.text, names[j]));
    }
    char endless[1000];
    memset (endless, 'x', sizeof (endless));
    endless[sizeof (endless) - 1] = '\0';
    const struct pollux_rule *ret;
    struct pollux_error err;
    assert_int_equal (pollux_rule_by_name (endless, &ret, &err), -ENOENT);
    assert_non_null (strstr (err.text, "legw"));
}

/* M0 = 100; phi = M0 var/sqr; gain = scale (phi + M0) / (phi + M). */
static void test_factors (void **unused)
{
    (void)unused;
    static const struct {
        const char *rule;
        int64_t total_batch;
        double sqr, var, progress, warmup_epochs, factor;
    } cases[] = {
        /* as noisy as large: (1+1)/(1/4+1) */
        {"adascale", 400, 1, 1, 0, 0, 1.6},
        {"adascale", 400, 1e-40, 1e-40, 0, 0, 1.6},
        {"adascale", 400, 1e+40, 1e+40, 0, 0, 1.6},
        {"adascale", 100, 1, 1, 0, 0, 1},
        {"adascale", 400, 1, 0, 0, 0, 1},        /* no noise: a large batch is no better */
        {"adascale", 400, 0, 1, 0, 0, 4},        /* noise only: as good as four */
        {"adascale", 400, 0, 0, 0, 0, 1},        /* a frozen group */
        {"adascale", 400, 2, 3, 9, 9, 5 / 2.75}, /* needs neither progress nor warm-up */
        {"adamscale", 400, 1, 1, 0, 0, 1.2649110640673518},
        {"adamscale", 400, 0, 1, 0, 0, 2},
        {"adamscale", 400, 1, 0, 0, 0, 1},
        {"linear", 400, 1, 1, 0, 0, 4},
        {"linear", 150, 0, 0, 0, 0, 1.5},
        {"sqrt", 400, 1, 1, 0, 0, 2},
        {"sqrt", 150, 0, 0, 0, 0, 1.224744871391589},
        /* dataset 1000: warm-up of 5 epochs x 4 x 10 updates = 200 */
        {"legw", 400, 1, 1, 0, 5, 0},
        {"legw", 400, 1, 1, 50, 5, 0.5},
        {"legw", 400, 1, 1, 199, 5, 1.99},
        {"legw", 400, 1, 1, 200, 5, 2},
        {"legw", 400, 1, 1, 1e9, 5, 2},
        {"legw", 100, 1, 1, 25, 5, 0.5}, /* at M0 it is the user's own warm-up */
        {"legw", 400, 1, 1, 0, 0, 2},    /* none */
        {"legw", 400, 1, 1, 10, 0.5, 1},
        /* below M0 the factor is that of M0, for any noise */
        {"adascale", 25, 1, 0, 0, 0, 1},
        {"adascale", 25, 1, 1, 0, 0, 1},
        {"adascale", 25, 0, 0, 0, 0, 1},
        {"adamscale", 25, 1, 1, 0, 0, 1},
        {"linear", 25, 1, 1, 0, 0, 1},
        {"sqrt", 25, 1, 1, 0, 0, 1},
        {"legw", 25, 1, 1, 1e9, 5, 1},
        {"legw", 25, 1, 1, 25, 5, 0.5},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_rate rate = {100, cases[i].total_batch, cases[i].progress,
                                   cases[i].warmup_epochs, 1000};
        double factor =
            pollux_rule_factor (rule (cases[i].rule), &rate,
                                (struct pollux_grad){.sqr = cases[i].sqr, .var = cases[i].var});
        if (!(relative (factor, cases[i].factor) < 1e-14))
            fail_msg ("case %zu, %s: got %.17g, want %.17g", i, cases[i].rule, factor,
                      cases[i].factor);
    }
}

static void test_domain (void **unused)
{
    (void)unused;
    const struct pollux_grad fine = {.sqr = 1, .var = 1};
    static const struct pollux_rate legal = {100, 400, 0, 5, 1000};
    static const struct pollux_rate illegal[] = {
        {0, 400, 0, 5, 1000},
        {-1, 400, 0, 5, 1000},
        {POLLUX_BATCH_LIMIT + 1, 400, 0, 5, 1000},
        {100, 0, 0, 5, 1000},
        {100, POLLUX_BATCH_LIMIT + 1, 0, 5, 1000},
        {100, 400, -1, 5, 1000},
        {100, 400, NAN, 5, 1000},
        {100, 400, INFINITY, 5, 1000},
    };
    static const struct pollux_rate illegal_legw[] = {
        {100, 400, 0, -1, 1000}, {100, 400, 0, NAN, 1000}, {100, 400, 0, INFINITY, 10},
        {100, 400, 0, 5, 0},     {100, 400, 0, 5, -1},     {100, 400, 0, 5, POLLUX_BATCH_LIMIT + 1},
    };
    static const struct pollux_grad illegal_grad[] = {
        {.sqr = -1, .var = 1},        {.sqr = 1, .var = -1},       {.sqr = NAN, .var = 1},
        {.sqr = 1, .var = NAN},       {.sqr = INFINITY, .var = 1}, {.sqr = 1, .var = INFINITY},
        {.sqr = 1e308, .var = 1e308},
    };
    for (size_t r = 0; pollux_rule_at (r); r++) {
        const struct pollux_rule *each = pollux_rule_at (r);
        bool legw = strcmp (pollux_rule_name (each), "legw") == 0;
        for (size_t i = 0; i < COUNT (illegal); i++)
            assert_true (isnan (pollux_rule_factor (each, &illegal[i], fine)));
        for (size_t i = 0; i < COUNT (illegal_legw); i++)
            assert_true (isnan (pollux_rule_factor (each, &illegal_legw[i], fine)) == legw);
        for (size_t i = 0; i < COUNT (illegal_grad); i++)
            assert_true (isnan (pollux_rule_factor (each, &legal, illegal_grad[i])));
    }
    for (size_t i = 0; i < COUNT (illegal); i++) {
        struct pollux_rate rate = illegal[i];
        assert_true (isnan (pollux_rate_advance (&rate, fine)));
        assert_memory_equal (&rate.progress, &illegal[i].progress, sizeof (rate.progress));
    }
    for (size_t i = 0; i < COUNT (illegal_grad); i++) {
        struct pollux_rate rate = legal;
        assert_true (isnan (pollux_rate_advance (&rate, illegal_grad[i])));
        assert_true (rate.progress == 0);
    }
}

/* With equal statistics a run with batch M needs fewer updates for the same progress, depending on
 * phi; the order of the batches does not matter. */
static void test_progress (void **unused)
{
    (void)unused;
    const struct pollux_grad grad = {.sqr = 1, .var = 3}; /* gain at 4 M0: 4 / 1.75 */
    struct pollux_rate rate = {.init_batch = 100, .total_batch = 100};
    for (int i = 0; i < 1000; i++)
        assert_true (pollux_rate_advance (&rate, grad) == 1);
    assert_true (rate.progress == 1000);
    rate.total_batch = 400;
    for (int i = 0; i < 700; i++)
        assert_true (relative (pollux_rate_advance (&rate, grad), 16 / 7.) < 1e-15);
    assert_true (relative (rate.progress, 1000 + 1600) < 1e-12);
    /* Noise only: progress is samples seen over M0.  No noise: it is updates. */
    rate = (struct pollux_rate){.init_batch = 100, .total_batch = 6400};
    pollux_rate_advance (&rate, (struct pollux_grad){.sqr = 0, .var = 2});
    assert_true (rate.progress == 64);
    pollux_rate_advance (&rate, (struct pollux_grad){.sqr = 2, .var = 0});
    pollux_rate_advance (&rate, (struct pollux_grad){.sqr = 0, .var = 0});
    assert_true (rate.progress == 66);
    /* A pass of 640 samples at M0 is 7 updates, its short last one included. */
    rate = (struct pollux_rate){.init_batch = 100, .total_batch = 100};
    for (int i = 0; i < 6; i++)
        pollux_rate_advance (&rate, grad);
    rate.total_batch = 40;
    assert_true (pollux_rate_advance (&rate, grad) == 1 && rate.progress == 7);
}

/* A training loop in small: two groups of different noise get different factors, progress uses
 * their sums, a skipped update changes nothing. */
static void test_with_an_estimator (void **unused)
{
    (void)unused;
    struct pollux_noise *noise;
    assert_int_equal (pollux_noise_new (2, 100, &noise, NULL), 0);
    const struct pollux_rule *adascale = rule ("adascale");
    struct pollux_rate rate = {.init_batch = 100, .total_batch = 400};

    /* Before the first estimate: factor 1 and gain 1. */
    assert_true (pollux_rule_factor (adascale, &rate, pollux_noise_group (noise, 1)) == 1);
    assert_true (pollux_rate_advance (&rate, pollux_noise_grad (noise)) == 1);

    /* K = 4, m = 100: e = (S - T) / 3, sqr = T - e, var = 4 e.
     * Group 0: e = 1, sqr 1, var 4.  Group 1: e = 1, sqr 9, var 4. */
    const double micro_sqr[] = {5, 13}, mean_sqr[] = {2, 10}, infinite[] = {INFINITY, 1};
    const struct pollux_batch batch = {100, 0};
    assert_int_equal (pollux_noise_update (noise, 4, batch, micro_sqr, mean_sqr, NULL), 0);
    assert_int_equal (pollux_noise_update (noise, 4, batch, infinite, mean_sqr, NULL), -EDOM);
    double factor[2];
    for (int g = 0; g < 2; g++)
        factor[g] = pollux_rule_factor (adascale, &rate, pollux_noise_group (noise, g));
    assert_true (relative (factor[0], 5 / 2.) < 1e-15);
    assert_true (relative (factor[1], 13 / 10.) < 1e-15);
    assert_true (relative (pollux_rate_advance (&rate, pollux_noise_grad (noise)), 18 / 12.) <
                 1e-15);
    assert_true (relative (rate.progress, 2.5) < 1e-15);
    pollux_noise_free (noise);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_factors),
        cmocka_unit_test (test_domain),
        cmocka_unit_test (test_progress),
        cmocka_unit_test (test_with_an_estimator),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
