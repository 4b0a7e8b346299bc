/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient-noise estimator on random gradients: a sample's gradient is Gaussian around the true
 * one, so sqr, var, the noise scale and the standard errors of all three are known.  Over many
 * independent runs, the errors divided by their standard error must have mean 0 and mean square 1,
 * within the accuracy of that many runs.
 */
#include "unit.h"

#include "base/rng.h"
#include "pollux/pollux.h"

enum { DIM = 12, UPDATES = 100, INIT_BATCH = 48 };

struct setting {
    const char *name;
    int replicas;
    struct pollux_batch batch;
    bool adam;
};

static const struct setting settings[] = {
    {"one replica", 1, {24, 0}, false},
    {"one replica, m above M0", 1, {96, 0}, false},
    {"one replica, accumulation", 1, {24, 1}, false},
    {"two replicas", 2, {24, 0}, false},
    {"two replicas, accumulation", 2, {12, 3}, false},
    {"eight replicas", 8, {24, 0}, false},
    {"eight replicas, accumulation", 8, {6, 2}, false},
    {"one replica, Adam", 1, {24, 0}, true},
    {"two replicas, Adam", 2, {24, 0}, true},
    {"eight replicas, accumulation, Adam", 8, {6, 2}, true},
};

static const struct pollux_adam adam = {0.999, 1e-8, 100};

/* Per coordinate: the true gradient, the standard deviation of one sample, and Adam's moment.
 * Coordinates differ by large factors, so that an estimator without P would be far off. */
struct gaussians {
    float mean[DIM], deviation[DIM], exp_avg_sq[DIM];
};

static struct gaussians gaussians_make (void)
{
    struct gaussians gaussians;
    for (int d = 0; d < DIM; d++) {
        gaussians.mean[d] = (float)(1 + d % 3);
        gaussians.deviation[d] = (float)(4 + d % 5);
        gaussians.exp_avg_sq[d] = (float)(0.01 * (1 + d));
    }
    return gaussians;
}

/* The true values, and variances and covariance of the estimate of one update.  lag: covariance with
 * the next update, which shares a gradient if n = 1. */
struct truth {
    double sqr, var;
    double sqr_var, var_var, cov;
    double sqr_lag, var_lag;
};

static struct truth truth_of (const struct gaussians *gaussians, const struct setting *setting)
{
    struct truth truth = {0};
    double n = setting->replicas * (double)(setting->batch.s + 1);
    double scale = (double)setting->batch.m * n / INIT_BATCH;
    for (int d = 0; d < DIM; d++) {
        double p = 1;
        if (setting->adam)
            p = sqrt ((double)gaussians->exp_avg_sq[d] / (1 - pow (0.999, 100))) + 1e-8;
        double u = gaussians->mean[d] / p, sample = pow (gaussians->deviation[d] / p, 2);
        double t = sample / (double)setting->batch.m; /* variance of a micro-gradient */
        truth.sqr += u * u;
        truth.var += sample / INIT_BATCH;
        if (n > 1) {
            /* |gbar|^2, and the sample variance s^2 / n beside it, which is independent. */
            double mean_sqr = 4 * u * u * t / n + 2 * t * t / (n * n);
            double excess = 2 * t * t / ((n - 1) * n * n);
            truth.sqr_var += mean_sqr + excess;
            truth.var_var += scale * scale * excess;
            truth.cov += -scale * excess;
        } else {
            truth.sqr_var += 2 * u * u * t + t * t;
            truth.sqr_lag += u * u * t;
            truth.var_var += scale * scale * 2 * t * t;
            truth.var_lag += scale * scale * t * t / 2;
            truth.cov += -scale * t * t;
        }
    }
    return truth;
}

/* The same of the average over UPDATES values with weights theta^age. */
static void truth_average (struct truth *truth, double scale, int values)
{
    double theta = pow (0.999, scale), sum = 0, squares = 0, neighbours = 0;
    for (int i = 0; i < values; i++) {
        double weight = pow (theta, i);
        sum += weight;
        squares += weight * weight;
        neighbours += i > 0 ? weight * weight / theta : 0;
    }
    squares /= sum * sum;
    neighbours /= sum * sum;
    truth->sqr_var = squares * truth->sqr_var + 2 * neighbours * truth->sqr_lag;
    truth->var_var = squares * truth->var_var + 2 * neighbours * truth->var_lag;
    truth->cov *= squares;
}

static void draw (const struct gaussians *gaussians, int64_t m, struct rng *rng, float *ret)
{
    for (int d = 0; d < DIM; d++)
        ret[d] = gaussians->mean[d] +
                 (float)(gaussians->deviation[d] / sqrt ((double)m) * rng_gaussian (rng));
}

static struct pollux_grad run (const struct gaussians *gaussians, const struct setting *setting,
                               struct rng *rng)
{
    const struct pollux_adam *with = setting->adam ? &adam : NULL;
    const float *v = gaussians->exp_avg_sq;
    int n = setting->replicas * (int)(setting->batch.s + 1);
    struct pollux_noise *noise;
    assert_int_equal (pollux_noise_new (1, INIT_BATCH, &noise, NULL), 0);
    float g[DIM], kept[DIM] = {0};
    for (int update = 0; update < UPDATES; update++)
        if (n == 1) {
            draw (gaussians, setting->batch.m, rng, g);
            struct pollux_pair pair = pollux_pair_f32 (kept, g, DIM, v, with);
            assert_int_equal (pollux_noise_update_single (noise, setting->batch.m, &pair.dot,
                                                          &pair.diff_sqr, NULL),
                              0);
            memcpy (kept, g, sizeof (kept));
        } else {
            double micro_sqr = 0, mean[DIM] = {0};
            for (int i = 0; i < n; i++) {
                draw (gaussians, setting->batch.m, rng, g);
                micro_sqr += pollux_sqr_f32 (g, DIM, v, with) / n;
                for (int d = 0; d < DIM; d++)
                    mean[d] += (double)g[d] / n;
            }
            for (int d = 0; d < DIM; d++)
                g[d] = (float)mean[d];
            double mean_sqr = pollux_sqr_f32 (g, DIM, v, with);
            assert_int_equal (pollux_noise_update (noise, setting->replicas, setting->batch,
                                                   &micro_sqr, &mean_sqr, NULL),
                              0);
        }
    struct pollux_grad grad = pollux_noise_grad (noise);
    assert_int_equal (pollux_noise_biased (noise), n == 1);
    pollux_noise_free (noise);
    return grad;
}

static void assert_standard_errors (const struct setting *setting, const char *what, double sum,
                                    double squares, int runs)
{
    double mean = sum / runs, mean_square = squares / runs;
    /* Five standard errors of a mean and of a mean square of unit normals. */
    if (fabs (mean) > 5 / sqrt (runs) || fabs (mean_square - 1) > 5 * sqrt (2. / runs))
        fail_msg ("%s: %s errs by %.3f standard errors in the mean, %.3f in the mean square",
                  setting->name, what, mean, mean_square);
}

static void test_within_the_standard_error (void **unused)
{
    (void)unused;
    const struct gaussians gaussians = gaussians_make ();
    const int runs = soak_count (2000);
    for (size_t i = 0; i < COUNT (settings); i++) {
        const struct setting *setting = &settings[i];
        int n = setting->replicas * (int)(setting->batch.s + 1);
        double scale = (double)setting->batch.m * n / INIT_BATCH;
        struct truth truth = truth_of (&gaussians, setting);
        /* At n = 1, scale counts both gradients and the first one gives no value. */
        truth_average (&truth, n > 1 ? scale : 2 * scale, n > 1 ? UPDATES : UPDATES - 1);

        double phi = INIT_BATCH * truth.var / truth.sqr;
        double phi_error = phi * sqrt (truth.sqr_var / (truth.sqr * truth.sqr) +
                                       truth.var_var / (truth.var * truth.var) -
                                       2 * truth.cov / (truth.sqr * truth.var));
        double sum[3] = {0}, squares[3] = {0};
        for (int r = 0; r < runs; r++) {
            struct rng rng = rng_stream (i, (uint64_t)r);
            struct pollux_grad grad = run (&gaussians, setting, &rng);
            const double z[3] = {
                (grad.sqr - truth.sqr) / sqrt (truth.sqr_var),
                (grad.var - truth.var) / sqrt (truth.var_var),
                (pollux_noise_scale (grad, INIT_BATCH) - phi) / phi_error,
            };
            for (int k = 0; k < 3; k++) {
                sum[k] += z[k];
                squares[k] += z[k] * z[k];
            }
        }
        assert_standard_errors (setting, "sqr", sum[0], squares[0], runs);
        assert_standard_errors (setting, "var", sum[1], squares[1], runs);
        assert_standard_errors (setting, "noise scale", sum[2], squares[2], runs);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_within_the_standard_error),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
