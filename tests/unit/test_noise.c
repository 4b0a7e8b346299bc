/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient-noise estimator: its formulas on fixed gradients, its averages compared with the
 * textbook formula x/w, exact unbiasedness over all batches of a small linear model, and its
 * refusals.  test_noise_gauss.c has the statistics, test_noise_save.c the bytes.
 */
#include "unit.h"

#include <errno.h>

#include "pollux/pollux.h"

static struct pollux_noise *noise_new (int groups, int64_t init_batch)
{
    struct pollux_noise *noise;
    assert_int_equal (pollux_noise_new (groups, init_batch, &noise, NULL), 0);
    return noise;
}

static void assert_grad (struct pollux_grad grad, double sqr, double var, double tolerance)
{
    if (relative (grad.sqr, sqr) > tolerance || relative (grad.var, var) > tolerance)
        fail_msg ("got sqr %.17g var %.17g, want %.17g and %.17g", grad.sqr, grad.var, sqr, var);
}

static void test_before_the_first (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (3, 128);
    assert_grad (pollux_noise_grad (noise), 1, 0, 0);
    for (int g = 0; g < 3; g++)
        assert_grad (pollux_noise_group (noise, g), 1, 0, 0);
    assert_true (isnan (pollux_noise_group (noise, -1).sqr));
    assert_true (isnan (pollux_noise_group (noise, 3).var));
    assert_true (pollux_noise_weight (noise) == 0);
    assert_false (pollux_noise_biased (noise));
    assert_false (pollux_noise_paired (noise, 64));
    assert_false (pollux_noise_paired (noise, 0));
    /* There is no gradient before the first one of n = 1. */
    assert_int_equal (pollux_noise_update_single (noise, 64, NULL, NULL, NULL), 0);
    assert_grad (pollux_noise_grad (noise), 1, 0, 0);
    assert_false (pollux_noise_biased (noise));
    pollux_noise_free (noise);
    pollux_noise_free (NULL);
}

/* Gradients (3, 0) and (1, 2): S = 7, mean (2, 1), T = 5.  sqr = 2 T - S = 3 = their product,
 * var = (S - T) M/M0 = 2 M/M0. */
static void test_two_fixed_gradients (void **unused)
{
    (void)unused;
    static const struct {
        int replicas;
        struct pollux_batch batch;
        int64_t init_batch;
        double var;
    } cases[] = {
        {2, {32, 0}, 64, 2},    {1, {32, 1}, 64, 2}, {2, {64, 0}, 64, 4},
        {2, {32, 0}, 256, 0.5}, {1, {1, 1}, 1, 4},
    };
    const double g0[2] = {3, 0}, g1[2] = {1, 2}, mean[2] = {2, 1};
    double micro_sqr =
        (pollux_sqr_f64 (g0, 2, NULL, NULL) + pollux_sqr_f64 (g1, 2, NULL, NULL)) / 2;
    double mean_sqr = pollux_sqr_f64 (mean, 2, NULL, NULL);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_noise *noise = noise_new (1, cases[i].init_batch);
        assert_int_equal (pollux_noise_update (noise, cases[i].replicas, cases[i].batch, &micro_sqr,
                                               &mean_sqr, NULL),
                          0);
        assert_grad (pollux_noise_grad (noise), 3, cases[i].var, 0);
        pollux_noise_free (noise);
    }
}

/* Four replicas of two micro-steps, (n T - S) / (n - 1) and (S - T) (K m A / M0) / (n - 1) with
 * S = 10, T = 3; and the same update where each replica shows the mean of its two micro-steps
 * only: n = 4 with micro-batches of 2 m, S = 6 there. */
static void test_accumulation_seen_or_summed (void **unused)
{
    (void)unused;
    double seen_sqr = 10, summed_sqr = 6, mean_sqr = 3;
    struct pollux_noise *noise = noise_new (1, 100);
    pollux_noise_update (noise, 4, (struct pollux_batch){25, 1}, &seen_sqr, &mean_sqr, NULL);
    assert_grad (pollux_noise_grad (noise), (8 * 3 - 10) / 7., (10 - 3) * 2 / 7., 1e-15);
    pollux_noise_free (noise);
    noise = noise_new (1, 100);
    pollux_noise_update (noise, 4, (struct pollux_batch){50, 0}, &summed_sqr, &mean_sqr, NULL);
    assert_grad (pollux_noise_grad (noise), (4 * 3 - 6) / 3., (6 - 3) * 2 / 3., 1e-15);
    pollux_noise_free (noise);
}

/* x <- theta x + (1-theta) value, w likewise, estimate x/w. */
struct book {
    double sqr, var, w;
};

static void book_add (struct book *book, double scale, double sqr, double var)
{
    double theta = pow (0.999, scale);
    book->sqr = theta * book->sqr + (1 - theta) * sqr;
    book->var = theta * book->var + (1 - theta) * var;
    book->w = theta * book->w + (1 - theta);
}

static void test_averages_by_the_book (void **unused)
{
    (void)unused;
    static const struct {
        int replicas;
        struct pollux_batch batch;
        double micro_sqr, mean_sqr;
    } steps[] = {
        {2, {64, 0}, 7, 5},   {2, {64, 0}, 9, 5},     {8, {64, 3}, 20, 4},     {1, {1, 1}, 7, 6},
        {1, {4000, 9}, 8, 2}, {64, {4000, 9}, 30, 3}, {16, {100000, 0}, 5, 1}, {2, {64, 0}, 7, 6},
    };
    struct pollux_noise *noise = noise_new (1, 128);
    struct book book = {0, 0, 0};
    for (size_t i = 0; i < COUNT (steps); i++) {
        double n = steps[i].replicas * (double)(steps[i].batch.s + 1);
        double scale =
            steps[i].replicas * (double)steps[i].batch.m / 128 * (double)(steps[i].batch.s + 1);
        double s = steps[i].micro_sqr, t = steps[i].mean_sqr;
        book_add (&book, scale, (n * t - s) / (n - 1), (s - t) * scale / (n - 1));
        assert_int_equal (
            pollux_noise_update (noise, steps[i].replicas, steps[i].batch, &s, &t, NULL), 0);
        assert_grad (pollux_noise_grad (noise), book.sqr / book.w, book.var / book.w, 1e-12);
        assert_true (relative (pollux_noise_weight (noise), book.w) < 1e-12);
    }
    assert_false (pollux_noise_biased (noise));
    pollux_noise_free (noise);
}

/* theta rounds to 1 here, but 1 - theta must not round to 0. */
static void test_tiny_batches_in_a_huge_m0 (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (1, POLLUX_BATCH_LIMIT);
    double scale = 0x1p-39, mean = 0;
    for (int i = 1; i <= 1000; i++) {
        double micro_sqr = 8 + i, mean_sqr = 6;
        mean += (micro_sqr - mean_sqr) * scale / 1000;
        pollux_noise_update (noise, 2, (struct pollux_batch){1, 0}, &micro_sqr, &mean_sqr, NULL);
    }
    assert_true (relative (pollux_noise_weight (noise), -1000 * scale * log (0.999)) < 1e-9);
    assert_true (relative (pollux_noise_grad (noise).var, mean) < 1e-9);
    pollux_noise_free (noise);
}

static void single (struct pollux_noise *noise, int64_t m, double dot, double diff_sqr)
{
    assert_int_equal (pollux_noise_update_single (noise, m, &dot, &diff_sqr, NULL), 0);
}

static void test_single_by_the_book (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (1, 128);
    struct book book = {0, 0, 0};
    single (noise, 32, 1e6, 1e6); /* no previous gradient: ignored */
    assert_true (pollux_noise_weight (noise) == 0);
    assert_false (pollux_noise_biased (noise));
    assert_true (pollux_noise_paired (noise, 32));
    for (int i = 0; i < 20; i++) {
        double dot = 3 + i, diff_sqr = 8 - i / 4.;
        single (noise, 32, dot, diff_sqr);
        book_add (&book, 2 * 32 / 128., dot, 32 / 128. * diff_sqr / 2);
        assert_grad (pollux_noise_grad (noise), book.sqr / book.w, book.var / book.w, 1e-12);
        assert_true (pollux_noise_biased (noise));
    }
    /* The kept gradient has another m. */
    assert_false (pollux_noise_paired (noise, 33));
    single (noise, 33, 1e6, 1e6);
    assert_grad (pollux_noise_grad (noise), book.sqr / book.w, book.var / book.w, 1e-12);
    single (noise, 33, 2, 7);
    book_add (&book, 2 * 33 / 128., 2, 33 / 128. * 7 / 2);
    assert_grad (pollux_noise_grad (noise), book.sqr / book.w, book.var / book.w, 1e-12);
    /* The caller has no previous gradient. */
    assert_int_equal (pollux_noise_update_single (noise, 33, NULL, NULL, NULL), 0);
    assert_grad (pollux_noise_grad (noise), book.sqr / book.w, book.var / book.w, 1e-12);
    pollux_noise_free (noise);
}

/* n = 1 is n = 2 over two updates. */
static void test_single_is_a_pair_in_time (void **unused)
{
    (void)unused;
    const float g0[3] = {1, -2, 3}, g1[3] = {2, 2, 1}, mean[3] = {1.5f, 0, 2};
    double micro_sqr =
        (pollux_sqr_f32 (g0, 3, NULL, NULL) + pollux_sqr_f32 (g1, 3, NULL, NULL)) / 2;
    double mean_sqr = pollux_sqr_f32 (mean, 3, NULL, NULL);
    struct pollux_pair pair = pollux_pair_f32 (g0, g1, 3, NULL, NULL);
    struct pollux_noise *in_time = noise_new (1, 10), *in_space = noise_new (1, 10);
    single (in_time, 5, 0, 0);
    single (in_time, 5, pair.dot, pair.diff_sqr);
    pollux_noise_update (in_space, 2, (struct pollux_batch){5, 0}, &micro_sqr, &mean_sqr, NULL);
    struct pollux_grad grad = pollux_noise_grad (in_space);
    assert_grad (pollux_noise_grad (in_time), grad.sqr, grad.var, 1e-14);
    assert_true (pollux_noise_weight (in_time) == pollux_noise_weight (in_space));
    pollux_noise_free (in_time);
    pollux_noise_free (in_space);
}

static void test_biased_averages_are_dropped (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (1, 64);
    double micro_sqr = 7, mean_sqr = 5;
    const struct pollux_batch batch = {32, 0};
    pollux_noise_update (noise, 2, batch, &micro_sqr, &mean_sqr, NULL);
    single (noise, 32, 100, 100); /* the update before had n = 2: no comparison */
    assert_false (pollux_noise_biased (noise));
    assert_grad (pollux_noise_grad (noise), 3, 2, 0);
    single (noise, 32, 100, 100); /* continues from the unbiased averages */
    assert_true (pollux_noise_biased (noise));
    double theta = pow (0.999, 1), w = 1 - theta * theta;
    assert_grad (pollux_noise_grad (noise), (1 - theta) * (theta * 3 + 100) / w,
                 (1 - theta) * (theta * 2 + 25) / w, 1e-12);
    pollux_noise_update (noise, 2, batch, &micro_sqr, &mean_sqr, NULL);
    assert_false (pollux_noise_biased (noise));
    assert_grad (pollux_noise_grad (noise), 3, 2, 0);
    assert_true (relative (pollux_noise_weight (noise), 1 - theta) < 1e-12);
    assert_false (pollux_noise_paired (noise, 32));
    pollux_noise_free (noise);
}

/* Groups are clipped one by one, before they are summed. */
static void test_groups_and_floors (void **unused)
{
    (void)unused;
    /* per group: fine; sqr negative; no noise at all; rounding made var negative; frozen */
    const double micro_sqr[] = {7, 10, 4, 4, 0}, mean_sqr[] = {5, 2, 4, 4 + 4e-15, 0};
    const double sqr[] = {3, 0, 4, 4, 0}, var[] = {2, 8, 4e-12, 4e-12, 0};
    struct pollux_noise *noise = noise_new (5, 64);
    pollux_noise_update (noise, 2, (struct pollux_batch){32, 0}, micro_sqr, mean_sqr, NULL);
    double sqr_sum = 0, var_sum = 0;
    for (int g = 0; g < 5; g++) {
        assert_grad (pollux_noise_group (noise, g), sqr[g], var[g], 1e-14);
        sqr_sum += sqr[g];
        var_sum += var[g];
    }
    assert_grad (pollux_noise_grad (noise), sqr_sum, var_sum, 1e-14);
    pollux_noise_free (noise);
}

/* Only results are clipped: the averages stay unbiased. */
static void test_negative_values_still_count (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (1, POLLUX_BATCH_LIMIT);
    double micro_sqr = 10, low = 2, high = 7; /* sqr -6 and 4, then both 4: mean 1.5 */
    pollux_noise_update (noise, 2, (struct pollux_batch){1, 0}, &micro_sqr, &low, NULL);
    assert_true (pollux_noise_grad (noise).sqr == 0);
    for (int i = 0; i < 3; i++)
        pollux_noise_update (noise, 2, (struct pollux_batch){1, 0}, &micro_sqr, &high, NULL);
    assert_true (relative (pollux_noise_grad (noise).sqr, 1.5) < 1e-9);
    pollux_noise_free (noise);
}

/* Scaling all gradients by c scales sqr and var by c^2 and nothing else, far beyond where the
 * squares leave the floats; the last two are doubles only. */
static void test_gradients_of_any_size (void **unused)
{
    (void)unused;
    static const double sizes[] = {1, 1e-20, 1e+20, 1e-30, 1e+30, 1e-100, 1e+100};
    enum { DIM = 5, STEPS = 30 };
    double gain = 0;
    for (size_t i = 0; i < COUNT (sizes); i++) {
        struct pollux_noise *noise = noise_new (1, 64), *alone = noise_new (1, 64);
        double kept[DIM] = {0};
        for (int t = 0; t < STEPS; t++) {
            double g[2][DIM], mean[DIM];
            for (int d = 0; d < DIM; d++) {
                g[0][d] = sizes[i] * (1 + sin (7 * t + d));
                g[1][d] = sizes[i] * (1 + sin (3 * t + 2 * d));
                mean[d] = (g[0][d] + g[1][d]) / 2;
            }
            double mean_sqr = pollux_sqr_f64 (mean, DIM, NULL, NULL);
            double micro_sqr =
                (pollux_sqr_f64 (g[0], DIM, NULL, NULL) + pollux_sqr_f64 (g[1], DIM, NULL, NULL)) /
                2;
            assert_int_equal (pollux_noise_update (noise, 2, (struct pollux_batch){128, 0},
                                                   &micro_sqr, &mean_sqr, NULL),
                              0);
            struct pollux_pair pair = pollux_pair_f64 (kept, g[0], DIM, NULL, NULL);
            single (alone, 64, pair.dot, pair.diff_sqr);
            memcpy (kept, g[0], sizeof (kept));
        }
        struct pollux_grad grad = pollux_noise_grad (noise),
                           differenced = pollux_noise_grad (alone);
        double c2 = sizes[i] * sizes[i];
        if (i == 0)
            gain = pollux_gain (grad, 4);
        assert_true (grad.sqr / c2 > 0.1 && grad.sqr / c2 < 10);
        assert_true (grad.var / c2 > 0.1 && grad.var / c2 < 10);
        assert_true (differenced.sqr / c2 > 0.1 && differenced.var / c2 > 0.1);
        assert_true (relative (pollux_gain (grad, 4), gain) < 1e-13);
        pollux_noise_free (noise);
        pollux_noise_free (alone);
    }
}

/* A linear model with squared loss: sample i has gradient (w.x_i - y_i) x_i.  Over all equally
 * likely draws (with replacement) of n micro-batches of m samples the mean estimate must be
 * the square of the mean gradient, and its variance over single samples divided by M0: exactly,
 * as far as the average is uniform, which M0 = 2^40 makes it. */
enum { SAMPLES = 4, DIM = 3 };

static void sample_gradients (double ret[SAMPLES][DIM])
{
    static const double x[SAMPLES][DIM] = {{1, 2, 0}, {0, 1, -1}, {2, -1, 1}, {1, 1, 1}};
    static const double y[SAMPLES] = {1, 0, 2, -1}, w[DIM] = {0.5, -0.25, 1};
    for (int i = 0; i < SAMPLES; i++) {
        double residual = -y[i];
        for (int d = 0; d < DIM; d++)
            residual += w[d] * x[i][d];
        for (int d = 0; d < DIM; d++)
            ret[i][d] = residual * x[i][d];
    }
}

static void true_statistics (double g[SAMPLES][DIM], double *sqr, double *var)
{
    *sqr = *var = 0;
    for (int d = 0; d < DIM; d++) {
        double mean = 0, square = 0;
        for (int i = 0; i < SAMPLES; i++) {
            mean += g[i][d] / SAMPLES;
            square += g[i][d] * g[i][d] / SAMPLES;
        }
        *sqr += mean * mean;
        *var += square - mean * mean;
    }
}

static void test_unbiased_over_all_batches (void **unused)
{
    (void)unused;
    static const struct {
        int replicas;
        struct pollux_batch batch;
    } cases[] = {{2, {1, 0}}, {1, {1, 1}}, {2, {2, 0}}, {3, {1, 0}}, {2, {1, 1}}, {2, {1, 2}}};
    static const struct pollux_adam adam = {0.999, 1e-8, 5};
    static const double exp_avg_sq[DIM] = {0.01, 1e-4, 3};
    for (size_t i = 0; i < 2 * COUNT (cases); i++) {
        const int replicas = cases[i / 2].replicas;
        const struct pollux_batch batch = cases[i / 2].batch;
        const struct pollux_adam *with = i % 2 ? &adam : NULL;
        double g[SAMPLES][DIM], scaled[SAMPLES][DIM], sqr, var;
        sample_gradients (g);
        for (int k = 0; k < SAMPLES; k++)
            for (int d = 0; d < DIM; d++) {
                double v = fmax (exp_avg_sq[d], (0.01 + 1e-4 + 3) / 3 / 100);
                double p = sqrt (v / (1 - pow (0.999, 5))) + 1e-8;
                scaled[k][d] = with ? g[k][d] / p : g[k][d];
            }
        true_statistics (scaled, &sqr, &var);

        struct pollux_noise *noise = noise_new (1, POLLUX_BATCH_LIMIT);
        int n = replicas * (int)(batch.s + 1), m = (int)batch.m, draws = 1;
        for (int j = 0; j < n * m; j++)
            draws *= SAMPLES;
        for (int draw = 0; draw < draws; draw++) {
            double micro_sqr = 0, mean[DIM] = {0};
            int rest = draw;
            for (int k = 0; k < n; k++) {
                double micro[DIM] = {0};
                for (int j = 0; j < m; j++, rest /= SAMPLES)
                    for (int d = 0; d < DIM; d++)
                        micro[d] += g[rest % SAMPLES][d] / m;
                for (int d = 0; d < DIM; d++)
                    mean[d] += micro[d] / n;
                micro_sqr += pollux_sqr_f64 (micro, DIM, exp_avg_sq, with) / n;
            }
            double mean_sqr = pollux_sqr_f64 (mean, DIM, exp_avg_sq, with);
            pollux_noise_update (noise, replicas, batch, &micro_sqr, &mean_sqr, NULL);
        }
        assert_grad (pollux_noise_grad (noise), sqr, var / (double)POLLUX_BATCH_LIMIT, 1e-8);
        pollux_noise_free (noise);
    }
}

static void assert_unchanged (const struct pollux_noise *noise, const void *before, size_t size)
{
    unsigned char now[256];
    assert_int_equal (pollux_noise_save (noise, now, sizeof (now), NULL), 0);
    assert_memory_equal (now, before, size);
}

static void test_not_finite_is_skipped (void **unused)
{
    (void)unused;
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    struct pollux_noise *noise = noise_new (2, 64);
    struct pollux_error err;
    unsigned char before[256];
    const struct pollux_batch batch = {32, 0};
    double fine[2][2] = {{7, 7}, {5, 5}};
    pollux_noise_update (noise, 2, batch, fine[0], fine[1], NULL);
    pollux_noise_update_single (noise, 32, NULL, NULL, NULL);
    size_t size = pollux_noise_size (noise);
    pollux_noise_save (noise, before, sizeof (before), NULL);

    for (size_t i = 0; i < COUNT (bad); i++)
        for (int at = 0; at < 4; at++) {
            double values[2][2] = {{7, 7}, {5, 5}};
            values[at / 2][at % 2] = bad[i];
            assert_int_equal (pollux_noise_update (noise, 2, batch, values[0], values[1], &err),
                              -EDOM);
            assert_non_null (strstr (err.text, at % 2 ? "group 1" : "group 0"));
            assert_non_null (strstr (err.text, "skip"));
            assert_unchanged (noise, before, size);
        }
    /* Finite, but its variance overflows. */
    double huge = 1e308, zero[2] = {0, 0}, both[2] = {1, huge};
    assert_int_equal (
        pollux_noise_update (noise, 2, (struct pollux_batch){1 << 20, 0}, both, zero, &err), -EDOM);
    assert_unchanged (noise, before, size);

    /* For n = 1 the averages stay, but the kept gradient is dropped: it may contain the inf. */
    struct pollux_grad grad = pollux_noise_grad (noise);
    for (size_t i = 0; i < COUNT (bad); i++)
        for (int at = 0; at < 4; at++) {
            double values[2][2] = {{7, 7}, {5, 5}};
            values[at / 2][at % 2] = bad[i];
            pollux_noise_restore (noise, before, size, NULL);
            assert_true (pollux_noise_paired (noise, 32));
            assert_int_equal (pollux_noise_update_single (noise, 32, values[0], values[1], &err),
                              -EDOM);
            assert_non_null (strstr (err.text, "skip"));
            assert_false (pollux_noise_paired (noise, 32));
            assert_false (pollux_noise_biased (noise));
            assert_grad (pollux_noise_grad (noise), grad.sqr, grad.var, 0);
        }
    pollux_noise_free (noise);
}

static void test_refusals (void **unused)
{
    (void)unused;
    static const struct {
        int replicas;
        struct pollux_batch batch;
        double micro_sqr, mean_sqr;
        const char *says;
    } cases[] = {
        {0, {32, 0}, 7, 5, "replicas"},
        {-1, {32, 0}, 7, 5, "replicas"},
        {POLLUX_REPLICAS_LIMIT + 1, {32, 0}, 7, 5, "replicas"},
        {2, {0, 0}, 7, 5, "m must"},
        {2, {-5, 0}, 7, 5, "m must"},
        {2, {32, -1}, 7, 5, "m must"},
        {2, {32, INT64_MIN}, 7, 5, "m must"},
        {2, {32, INT64_MAX}, 7, 5, "2^40"},
        {2, {INT64_MAX, 0}, 7, 5, "2^40"},
        {1, {32, 0}, 7, 5, "pollux_noise_update_single"},
        {2, {32, 0}, -7, 5, "negative"},
        {2, {32, 0}, 7, -5, "negative"},
        {2, {32, 0}, 7, 28, "sum of gradients"},
    };
    struct pollux_noise *noise = noise_new (1, 64), *none = NULL;
    struct pollux_error err;
    unsigned char before[256];
    pollux_noise_save (noise, before, sizeof (before), NULL);
    for (size_t i = 0; i < COUNT (cases); i++) {
        assert_int_equal (pollux_noise_update (noise, cases[i].replicas, cases[i].batch,
                                               &cases[i].micro_sqr, &cases[i].mean_sqr, &err),
                          -EINVAL);
        assert_non_null (strstr (err.text, cases[i].says));
    }
    double x = 1, negative = -1;
    assert_int_equal (pollux_noise_update_single (noise, 0, &x, &x, &err), -EINVAL);
    assert_int_equal (pollux_noise_update_single (noise, INT64_MAX, &x, &x, &err), -EINVAL);
    assert_int_equal (pollux_noise_update_single (noise, 32, &x, NULL, &err), -EINVAL);
    assert_non_null (strstr (err.text, "diff_sqr is missing"));
    assert_int_equal (pollux_noise_update_single (noise, 32, NULL, &x, &err), -EINVAL);
    assert_unchanged (noise, before, pollux_noise_size (noise));
    pollux_noise_update_single (noise, 32, NULL, NULL, NULL);
    assert_int_equal (pollux_noise_update_single (noise, 32, &x, &negative, &err), -EINVAL);
    pollux_noise_free (noise);

    assert_int_equal (pollux_noise_new (0, 64, &none, &err), -EINVAL);
    assert_int_equal (pollux_noise_new (POLLUX_GROUPS_LIMIT + 1, 64, &none, &err), -EINVAL);
    assert_int_equal (pollux_noise_new (1, 0, &none, &err), -EINVAL);
    assert_int_equal (pollux_noise_new (1, POLLUX_BATCH_LIMIT + 1, &none, &err), -EINVAL);
    assert_null (none);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_before_the_first),
        cmocka_unit_test (test_two_fixed_gradients),
        cmocka_unit_test (test_accumulation_seen_or_summed),
        cmocka_unit_test (test_averages_by_the_book),
        cmocka_unit_test (test_tiny_batches_in_a_huge_m0),
        cmocka_unit_test (test_single_by_the_book),
        cmocka_unit_test (test_single_is_a_pair_in_time),
        cmocka_unit_test (test_biased_averages_are_dropped),
        cmocka_unit_test (test_groups_and_floors),
        cmocka_unit_test (test_negative_values_still_count),
        cmocka_unit_test (test_gradients_of_any_size),
        cmocka_unit_test (test_unbiased_over_all_batches),
        cmocka_unit_test (test_not_finite_is_skipped),
        cmocka_unit_test (test_refusals),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
