/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Throughput, efficiency and goodput: against the published implementation's values, and the
 * properties that the scheduler relies on.
 */
#include "unit.h"
#include "base/rng.h"
#include "model/model.h"
#include "pollux/pollux.h"

static struct pollux_model model_of (const double *v)
{
    return (struct pollux_model){v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
}

static void golden_goodput (void **state)
{
    (void)state;
    FILE *file = golden_open (TEST_DATA "golden/goodput.csv");
    char header[4096];
    assert_non_null (fgets (header, sizeof (header), file));
    double v[17];
    int rows = 0;
    while (golden_row (file, v, COUNT (v))) {
        struct pollux_model model = model_of (v);
        struct pollux_grad grad = {.sqr = v[7], .var = v[8]};
        int64_t init = (int64_t)v[9];
        struct pollux_shape shape = {(int)v[10], (int)v[11]};
        struct pollux_batch batch = {(int64_t)v[12], (int64_t)v[13]};
        double total = pollux_total_batch (shape, batch);
        assert_true (relative (pollux_throughput (&model, shape, batch), v[14]) <= 1e-12);
        assert_true (relative (pollux_efficiency (grad, init, total), v[15]) <= 1e-12);
        assert_true (relative (pollux_goodput (&model, grad, init, shape, batch), v[16]) <= 1e-12);
        rows++;
    }
    fclose (file);
    assert_true (rows > 100);
}

static struct pollux_model random_model (struct rng *rng)
{
    return (struct pollux_model){
        .alpha_grad = log_uniform (rng, 1e-4, 1),
        .beta_grad = log_uniform (rng, 1e-6, 1e-1),
        .alpha_node = log_uniform (rng, 1e-4, 2),
        .beta_node = log_uniform (rng, 1e-7, 1e-1),
        .alpha_local = log_uniform (rng, 1e-4, 1),
        .beta_local = log_uniform (rng, 1e-7, 1e-1),
        .gamma = 1 + 9 * rng_uniform (rng),
    };
}

static void efficiency_falls_with_batch (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < 20000; i++) {
        struct pollux_grad grad = {.sqr = log_uniform (&rng, 1e-20, 1e20),
                                   .var = log_uniform (&rng, 1e-20, 1e20)};
        int64_t init = 1 + (int64_t)rng_below (&rng, 10000);
        double last = 2;
        for (double total = (double)init; total < 1e9; total *= 1.7) {
            double efficiency = pollux_efficiency (grad, init, total);
            assert_true (efficiency > 0 && efficiency <= 1);
            assert_true (efficiency <= last * (1 + 1e-12));
            last = efficiency;
            double gain = pollux_gain (grad, total / (double)init);
            assert_true (gain >= 1 - 1e-12 && gain <= total / (double)init * (1 + 1e-12));
        }
        /* The two ways to write it agree. */
        double phi = pollux_noise_scale (grad, init), total = 7.5 * (double)init;
        double direct = (phi + (double)init) / (phi + total);
        assert_true (relative (pollux_efficiency (grad, init, total), direct) < 1e-12);
    }
}

static void throughput_grows_with_m (void **state)
{
    (void)state;
    struct rng rng = rng_seed (2);
    for (int i = 0; i < 20000; i++) {
        struct pollux_model model = random_model (&rng);
        int replicas = 1 + (int)rng_below (&rng, 512);
        struct pollux_shape shape = {1 + (int)rng_below (&rng, (uint64_t)replicas), replicas};
        int64_t s = (int64_t)rng_below (&rng, 5);
        double last = 0;
        for (int64_t m = 1; m < 100000; m += 1 + m / 2) {
            double throughput = pollux_throughput (&model, shape, (struct pollux_batch){m, s});
            assert_true (throughput >= last * (1 - 1e-12));
            last = throughput;
        }
    }
}

static void overlap_out_of_range (void **state)
{
    (void)state;
    /* Powers that overflow: the result is the larger time. */
    struct pollux_model huge = {
        .alpha_grad = 1e200, .beta_grad = 1, .alpha_local = 1e190, .gamma = 8};
    struct pollux_model tiny = {.alpha_grad = 1e-200, .alpha_local = 1e-190, .gamma = 8};
    struct pollux_shape shape = {1, 2};
    struct pollux_batch batch = {1, 0};
    assert_true (relative (pollux_iter_time (&huge, shape, batch), 1e200) < 1e-9);
    assert_true (relative (pollux_iter_time (&tiny, shape, batch), 1e-190) < 1e-9);
    /* Times whose powers are denormal. */
    struct pollux_model steep = {.beta_grad = 0.005, .gamma = 500};
    for (int64_t m = 1; m < 1000; m++) {
        double iter_s =
            pollux_iter_time (&steep, (struct pollux_shape){1, 1}, (struct pollux_batch){.m = m});
        assert_true (relative (iter_s, pollux_grad_time (&steep, m)) < 1e-14);
    }
}

/* Every function that returns a double, everywhere outside its domain. */
static void outside_the_domain (void **state)
{
    (void)state;
    const struct pollux_model good = {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2};
    const struct pollux_shape shape = {1, 4}, nodes = {2, 4};
    const struct pollux_batch batch = {32, 0};
    const struct pollux_grad grad = {.sqr = 1, .var = 1};

    const struct pollux_shape shapes[] = {{2, 1}, {0, 1}, {1, 0}, {-1, -1}};
    for (size_t i = 0; i < COUNT (shapes); i++) {
        assert_true (isnan (pollux_iter_time (&good, shapes[i], batch)));
        assert_true (isnan (pollux_throughput (&good, shapes[i], batch)));
        assert_true (isnan (pollux_goodput (&good, grad, 8, shapes[i], batch)));
    }
    const struct pollux_batch batches[] = {{-1, 0}, {1, -1}, {INT64_MIN, 0}, {-1, -1}};
    for (size_t i = 0; i < COUNT (batches); i++) {
        assert_true (isnan (pollux_total_batch (shape, batches[i])));
        assert_true (isnan (pollux_iter_time (&good, shape, batches[i])));
        assert_true (isnan (pollux_throughput (&good, shape, batches[i])));
    }
    assert_true (isnan (pollux_total_batch ((struct pollux_shape){1, -2}, batch)));
    assert_true (pollux_total_batch (shape, (struct pollux_batch){0, 0}) == 0);
    assert_true (isnan (pollux_throughput (&good, shape, (struct pollux_batch){0, 0})));
    assert_true (isnan (pollux_grad_time (&good, 0)));
    assert_true (isnan (pollux_grad_time (&good, -5)));

    const struct pollux_model models[] = {
        {-0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2},    {0.1, -0.01, 0.2, 0.02, 0.1, 0.01, 2},
        {NAN, 0.01, 0.2, 0.02, 0.1, 0.01, 2},     {0.1, INFINITY, 0.2, 0.02, 0.1, 0.01, 2},
        {0.1, 0.01, -0.1, 0.2, -0.1, 0.2, 2},     {0.1, 0.01, 0.2, -0.1, 0.2, -0.1, 2},
        {0.1, 0.01, NAN, 0.02, NAN, 0.01, 2},     {0.1, 0.01, INFINITY, 0, INFINITY, 0, 2},
        {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 0.999}, {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, -1},
        {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, NAN},   {0, 0, 0.2, 0.02, 0.1, 0.01, 2},
    };
    for (size_t i = 0; i < COUNT (models); i++) {
        assert_true (isnan (pollux_iter_time (&models[i], shape, batch)));
        assert_true (isnan (pollux_iter_time (&models[i], nodes, batch)));
        assert_true (isnan (pollux_throughput (&models[i], shape, batch)));
        assert_true (isnan (pollux_goodput (&models[i], grad, 128, shape, batch)));
    }
    /* Constants that a placement does not use may be NaN. */
    struct pollux_model local = {0.1, 0.01, NAN, NAN, 0.1, 0.01, INFINITY};
    assert_true (relative (pollux_iter_time (&local, shape, batch), 0.42) < 1e-15);

    const struct {
        double sqr, var;
        int64_t init;
        double total;
    } cases[] = {
        {1, 1, 128, 127},    {1, 1, 0, 128},        {1, 1, -1, 128}, {1, 1, -1, -5},
        {1, 1, 128, NAN},    {1, 1, 128, INFINITY}, {NAN, 1, 1, 2},  {1, NAN, 1, 2},
        {INFINITY, 1, 1, 2}, {1, INFINITY, 1, 2},   {1, -0.5, 1, 2}, {1e308, 1e308, 1, 2},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        if (!isnan (
                pollux_efficiency ((struct pollux_grad){.sqr = cases[i].sqr, .var = cases[i].var},
                                   cases[i].init, cases[i].total)))
            fail_msg ("efficiency: case %zu is a number", i);
    assert_true (isnan (pollux_goodput (&good, grad, 0, shape, batch)));
    assert_true (isnan (pollux_goodput (&good, grad, 129, shape, batch)));

    assert_true (isnan (pollux_gain (grad, 0)));
    assert_true (isnan (pollux_gain (grad, -1)));
    assert_true (isnan (pollux_gain (grad, NAN)));
    assert_true (isnan (pollux_gain ((struct pollux_grad){.sqr = 1e308, .var = 1e308}, 4)));
    assert_true (pollux_gain ((struct pollux_grad){.sqr = 0, .var = 0}, 4) == 1);
    assert_true (pollux_gain ((struct pollux_grad){.sqr = -2, .var = 1}, 4) == 1);

    assert_true (isinf (pollux_noise_scale ((struct pollux_grad){.sqr = 0, .var = 1}, 128)));
    assert_true (isnan (pollux_noise_scale ((struct pollux_grad){.sqr = 0, .var = 0}, 128)));
    assert_true (isnan (pollux_noise_scale (grad, 0)));
    assert_true (isnan (pollux_noise_scale ((struct pollux_grad){.sqr = -1, .var = 1}, 128)));
    assert_true (isnan (pollux_noise_scale ((struct pollux_grad){.sqr = 1, .var = -1}, 128)));
    assert_string_equal (pollux_version (), POLLUX_VERSION);
}

/* M0 = 100, phi = 300: the gain of M is M (300 + 100) / (100 (300 + M)). */
static void gain_has_a_limit (void **state)
{
    (void)state;
    const struct pollux_grad free_grad = {.sqr = 1, .var = 3};
    struct pollux_grad grad = free_grad;
    static const struct {
        double gain_max, scale, gain;
    } cases[] = {
        {2, 1, 1},  {2, 2, 1.6}, {2, 3, 2},        {2, 3.001, 2},
        {2, 50, 2}, {1, 8, 1},   {4, 8, 32 / 11.}, /* never reached: below (var + sqr) / sqr */
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        grad.gain_max = cases[i].gain_max;
        double gain = pollux_gain (grad, cases[i].scale);
        if (relative (gain, cases[i].gain) > 1e-14)
            fail_msg ("case %zu: gain %.17g", i, gain);
        assert_true (relative (pollux_efficiency (grad, 100, 100 * cases[i].scale),
                               cases[i].gain / cases[i].scale) < 1e-14);
    }
    /* The total batch at which the limit is reached. */
    grad.gain_max = 2;
    assert_true (relative (model_gain_limit_total (grad, 100), 300) < 1e-14);
    grad.gain_max = 1;
    assert_true (relative (model_gain_limit_total (grad, 100), 100) < 1e-14);
    grad.gain_max = 4;
    assert_true (isinf (model_gain_limit_total (grad, 100)));
    assert_true (isinf (model_gain_limit_total (free_grad, 100)));
    grad = (struct pollux_grad){.sqr = 1, .var = 0, .gain_max = 2};
    assert_true (isinf (model_gain_limit_total (grad, 100)));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (golden_goodput),          cmocka_unit_test (efficiency_falls_with_batch),
        cmocka_unit_test (throughput_grows_with_m), cmocka_unit_test (overlap_out_of_range),
        cmocka_unit_test (outside_the_domain),      cmocka_unit_test (gain_has_a_limit),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
