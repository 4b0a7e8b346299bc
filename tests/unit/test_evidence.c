/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent's decisions rest on: evidence of the noise on Gaussian gradients of known noise scale, the
 * limit of the gain, the factor for Adam, probes.
 */
#include "unit.h"

#include "agent/second_moment.h"
#include "base/rng.h"
#include "model/adaptation.h"

/* ---- Evidence ------------------------------------------------------------------------------- */

/* The formulas of evidence.h, over all values. */
static void test_by_the_book (void **unused)
{
    (void)unused;
    enum { COUNT_OF = 40 };
    struct rng rng = rng_seed (1);
    struct evidence evidence = {0};
    double q[COUNT_OF], u[COUNT_OF], w[COUNT_OF];
    for (int n = 0; n < COUNT_OF; n++) {
        double scale = 1 + (double)(n % 5), progress = 1 + rng_uniform (&rng);
        q[n] = 1 + rng_gaussian (&rng);
        u[n] = 5 * rng_uniform (&rng);
        w[n] = scale;
        evidence_add (&evidence, q[n], u[n], scale);
        double sum = 0, sum2 = 0, mean = 0, var = 0, spread = 0;
        for (int i = 0; i <= n; i++) {
            sum += w[i];
            sum2 += w[i] * w[i];
            mean += w[i] * q[i];
            var += w[i] * u[i];
        }
        mean /= sum;
        var /= sum;
        for (int i = 0; i <= n; i++)
            spread += w[i] * w[i] * (q[i] - mean) * (q[i] - mean);
        double error = sqrt (spread) / sum;
        assert_true (relative (evidence_count (&evidence), sum * sum / sum2) < 1e-12);
        assert_true (fabs (evidence_error (&evidence) - error) < 1e-7);
        struct pollux_grad grad = evidence_grad (&evidence, 32, 1000);
        assert_true (relative (grad.var, var) < 1e-12);
        assert_true (fabs (grad.sqr - (fmax (mean, 0) + error + 32 * var / 1000)) < 1e-6);
        assert_true (fabs (evidence_grad (&evidence, 32, 0).sqr - fmax (mean, 0) - error) < 1e-6);
        double noise = evidence_noise (&evidence, 32);
        assert_true (mean > 0 ? relative (noise, 32 * var / mean) < 1e-9 : isnan (noise));
        assert_true (evidence_is_legal (&evidence));
        for (int i = 0; i <= n; i++)
            w[i] *= pow (0.999, progress);
        evidence_age (&evidence, progress);
    }
}

static void test_without_evidence (void **unused)
{
    (void)unused;
    struct evidence evidence = {0};
    struct pollux_grad grad = evidence_grad (&evidence, 32, 1000);
    assert_true (grad.sqr == 1 && grad.var == 0);
    assert_true (evidence_count (&evidence) == 0 && evidence_error (&evidence) == 0);
    assert_true (isnan (evidence_noise (&evidence, 32)));
    assert_true (evidence_is_legal (&evidence));
    /* Evidence of long ago is forgotten, not kept with weights of 0. */
    evidence_add (&evidence, 1, 1, 1);
    evidence_age (&evidence, 1e9);
    assert_true (evidence_count (&evidence) == 0 && evidence_is_legal (&evidence));
    /* Gradients of any size. */
    for (double size = 1e-150; size < 1e150; size *= 1e50) {
        evidence = (struct evidence){0};
        for (int i = 0; i < 10; i++)
            evidence_add (&evidence, size * (i % 2 ? 3 : -1), size, 1);
        grad = evidence_grad (&evidence, 32, 0);
        assert_true (relative (grad.sqr, size * (1 + 2 / sqrt (10))) < 1e-6);
        assert_true (evidence_is_legal (&evidence));
    }
}

/* One value 1e6 times as large as the others moves the means by a few times their size at most. */
static void test_outlier (void **unused)
{
    (void)unused;
    struct evidence evidence = {0};
    for (int i = 0; i < 64; i++)
        evidence_add (&evidence, 1, 2, 1);
    evidence_add (&evidence, 1e6, 2e6, 1);
    assert_true (evidence.sqr < 1.2 && evidence.var < 2.4);
    evidence_add (&evidence, -1e6, 0, 1);
    assert_true (evidence.sqr > 0.8);
}

/* Updates of two halves with M0 samples.  In D dimensions the gradient of a half has the mean 1/sqrt (D) per
 * element, so that |G|^2 = 1, and the variance 2 phi/M0 / D. */
static double lower_bound (struct rng *rng, double ratio, int updates)
{
    enum { D = 50 };
    struct evidence evidence = {0};
    double deviation = sqrt (2 * ratio / D), mean = 1 / sqrt ((double)D);
    for (int i = 0; i < updates; i++) {
        double q = 0, u = 0;
        for (int d = 0; d < D; d++) {
            double a = mean + deviation * rng_gaussian (rng);
            double b = mean + deviation * rng_gaussian (rng);
            q += a * b;
            u += (a - b) * (a - b) / 4;
        }
        evidence_add (&evidence, q, u, 1);
        evidence_age (&evidence, 1);
    }
    struct pollux_grad grad = evidence_grad (&evidence, 1, 0);
    return grad.var / grad.sqr; /* phi/M0 */
}

static int compare (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lower bound of phi exceeds 2 phi in at most 5 % of the runs, and is not too low. */
static void test_gaussian (void **unused)
{
    (void)unused;
    static const double ratios[] = {1, 10, 100};
    static const int counts[] = {64, 200, 600};
    enum { RUNS = 400 };
    struct rng rng = rng_seed (5);
    int runs = soak_count (RUNS) < 100 ? 100 : soak_count (RUNS);
    double bounds[RUNS] = {0};
    for (size_t r = 0; r < COUNT (ratios); r++)
        for (size_t c = 0; c < COUNT (counts); c++) {
            int high = 0;
            for (int i = 0; i < runs; i++) {
                bounds[i] = lower_bound (&rng, ratios[r], counts[c]);
                high += bounds[i] > 2 * ratios[r];
            }
            qsort (bounds, (size_t)runs, sizeof (double), compare);
            if (high > runs / 20)
                fail_msg ("phi/M0 %g, %d updates: above twice in %d of %d runs", ratios[r],
                          counts[c], high, runs);
            if (counts[c] == 600 && bounds[runs / 2] < ratios[r] / 3)
                fail_msg ("phi/M0 %g: median of the bound %g", ratios[r], bounds[runs / 2]);
        }
}

/* ---- The limit of the gain ------------------------------------------------------------------ */

static void test_gain_limit (void **unused)
{
    (void)unused;
    /* Updates of a pass; the first limit, after 1000 of progress, and the last. */
    static const struct {
        double pass, first, second, last;
    } cases[] = {
        {0, 4, 8, GAIN_LIMIT_LAST},
        {1e-3, 4, 4, 4},
        {40, 4, 4, 4},
        {64, 4, 6.4, 6.4},
        {391, 4, 8, 39.1},
        {400, 4, 8, 40},
        {7400, 74, 148, 740},
        {1e12, GAIN_LIMIT_LAST, GAIN_LIMIT_LAST, GAIN_LIMIT_LAST},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        double pass = cases[i].pass;
        struct gain_limit limit = gain_limit_start (pass);
        assert_true (limit.most == cases[i].first);
        for (int j = 0; j < 10000; j++)
            gain_limit_advance (&limit, 4, false, pass); /* not steady */
        for (int j = 0; j < 249; j++)
            gain_limit_advance (&limit, 4, true, pass);
        assert_true (limit.most == cases[i].first);
        gain_limit_advance (&limit, 4, true, pass);
        assert_true (limit.most == cases[i].second);
        for (int j = 0; j < 100000; j++)
            gain_limit_advance (&limit, 4, true, pass);
        assert_true (limit.most == cases[i].last);
    }
    /* A limit from an older file stays, if the data allow less. */
    struct gain_limit limit = {.most = 64, .trial = 999};
    gain_limit_advance (&limit, 4, true, 64);
    assert_true (limit.most == 64 && limit.trial == 0);
}

/* Progress raises the limit only with enough evidence: updates that measured nothing, or a few values
 * with a standard error of 0, are no steady estimate. */
static void test_limit_needs_evidence (void **unused)
{
    (void)unused;
    static const int counts[] = {0, 1, 2, 15, 17};
    for (size_t c = 0; c < COUNT (counts); c++) {
        int values = counts[c];
        struct adaptation adaptation = adaptation_start (32, 0, false);
        for (int i = 0; i < values; i++)
            adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = 2}, 1);
        for (int i = 0; i < 3000; i++)
            adaptation_advance (&adaptation, 1);
        assert_true (adaptation.gain_limit.most == (values < 16 ? 4 : 32));
    }
}

/* The data count as they are at first, and as twice as many samples when the limit has doubled. */
static void test_data_allowance (void **unused)
{
    (void)unused;
    static const struct {
        int64_t pass;
        double first;
    } cases[] = {{100, 4}, {400, 4}, {8000, 80}};
    for (size_t i = 0; i < COUNT (cases); i++) {
        double noise = 4000 / (double)cases[i].pass;
        struct adaptation adaptation = adaptation_start (32, 32 * cases[i].pass, false);
        for (int j = 0; j < 20; j++)
            adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = 4000}, 1);
        struct pollux_grad grad = adaptation_grad (&adaptation);
        assert_true (grad.gain_max == cases[i].first && relative (grad.sqr, 1 + noise) < 1e-12);
        adaptation_advance (&adaptation, 1000);
        grad = adaptation_grad (&adaptation);
        assert_true (grad.gain_max == 2 * cases[i].first);
        assert_true (relative (grad.sqr, 1 + noise / 2) < 1e-12);
    }
}

/* A turn to choose: after 16 values, then after every 50 updates; at once on another placement. */
static void test_turns (void **unused)
{
    (void)unused;
    struct adaptation adaptation = adaptation_start (32, 0, true);
    for (int i = 0; i < 26; i++) {
        bool enough = i == 25; /* the first 10 do not count with Adam */
        adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = 2}, 1);
        assert_int_equal (adaptation_has_evidence (&adaptation), enough);
        assert_true (adaptation_grad (&adaptation).gain_max == (enough ? 4 : 1));
        assert_int_equal (adaptation_take_turn (&adaptation), enough);
        adaptation_advance (&adaptation, 0);
    }
    adaptation_measure (&adaptation, (struct pollux_grad){.sqr = NAN, .var = 1}, 1);
    adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = INFINITY}, 1);
    assert_true (evidence_count (&adaptation.evidence) == 16);
    for (int i = 1; i < 50; i++) {
        assert_false (adaptation_take_turn (&adaptation));
        adaptation_advance (&adaptation, 0);
    }
    assert_true (adaptation_take_turn (&adaptation));
    assert_false (adaptation_take_turn (&adaptation));
    adaptation_place (&adaptation);
    assert_true (adaptation_take_turn (&adaptation));
    assert_int_equal (adaptation.updates, 75);
}

/* Large gains do not use up the evidence, whether every update measures or only every 16th. */
static void test_large_gains (void **unused)
{
    (void)unused;
    for (uint64_t period = 1; period <= 16; period += 15) {
        struct adaptation adaptation = adaptation_start (32, 0, false);
        for (double gain = 1; gain < 1e6; gain *= 1.001) {
            if (adaptation.updates % period == 0)
                adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = 2}, gain);
            adaptation_advance (&adaptation, gain);
            if (adaptation.updates > 20 * period && !adaptation_has_evidence (&adaptation))
                fail_msg ("measured every %d updates: gain %g", (int)period, gain);
        }
    }
}

/* One replica whose batch doubles after every 50 updates, with its probes.  The gain never falls back to 1. */
static void test_growing_batch (void **unused)
{
    (void)unused;
    static const struct {
        bool adam;
        int64_t pass;    /* updates with M0 in a pass over the data */
        double most;     /* the largest batch, in M0 */
        uint64_t from;   /* the update from which on it grows */
        double count[2]; /* the least effective number of values: from, below */
    } cases[] = {
        /* Much data: large gains. */
        {false, 10000, 1e9, 0, {11, 12}},
        {true, 10000, 1e9, 0, {11, 12}},
        {false, 1000, 32, 100, {12, 14}},
        {true, 1000, 32, 100, {12, 14}},
        /* Little data: the gain is at most 4, with batches of at most 16 M0.  The values always count as 16 or
         * more, so the hysteresis changes nothing. */
        {false, 40, 16, 0, {16, 17}},
        {true, 40, 16, 0, {16, 17}},
        {false, 40, 16, 130, {16, 17}},
        {true, 40, 16, 130, {16, 17}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct adaptation adaptation = adaptation_start (32, 32 * cases[i].pass, cases[i].adam);
        double scale = 1, least = INFINITY;
        for (uint64_t update = 0; update < 2000; update++) {
            if (probe_is_due (update, cases[i].adam))
                adaptation_measure (&adaptation, (struct pollux_grad){.sqr = 1, .var = 1e6}, scale);
            double gain = pollux_gain (adaptation_grad (&adaptation), scale);
            adaptation_advance (&adaptation, gain);
            if (!adaptation_has_evidence (&adaptation)) {
                if (update > 30 || scale > 1)
                    fail_msg ("case %zu: no evidence after update %d", i, (int)update);
                continue;
            }
            least = fmin (least, evidence_count (&adaptation.evidence));
            if (scale >= 2 && gain < 1.9)
                fail_msg ("case %zu: gain %g after update %d", i, gain, (int)update);
            if (update >= cases[i].from && adaptation_take_turn (&adaptation))
                scale = fmin (2 * scale, cases[i].most);
        }
        if (!(least >= cases[i].count[0] && least < cases[i].count[1]))
            fail_msg ("case %zu: %g values", i, least);
    }
}

/* Evidence is gained with 16 values; it is lost, and must be gained again, if few large batches exceed them. */
static void test_lost_evidence (void **unused)
{
    (void)unused;
    struct pollux_grad grad = {.sqr = 1, .var = 2};
    struct adaptation adaptation = adaptation_start (32, 0, false);
    for (int i = 0; i < 16; i++) {
        assert_false (adaptation_has_evidence (&adaptation));
        adaptation_measure (&adaptation, grad, 1);
    }
    assert_true (adaptation_has_evidence (&adaptation));
    adaptation_measure (&adaptation, grad, 4); /* 20^2 / 32 = 12.5 values */
    assert_true (adaptation_has_evidence (&adaptation));
    adaptation_measure (&adaptation, grad, 100); /* 1.4 values */
    assert_false (adaptation_has_evidence (&adaptation));
    for (int i = 2; i < 16; i++) {
        adaptation_measure (&adaptation, grad, 100);
        assert_false (adaptation_has_evidence (&adaptation));
    }
    adaptation_measure (&adaptation, grad, 100);
    assert_true (adaptation_has_evidence (&adaptation));
}

/* ---- Adam ----------------------------------------------------------------------------------- */

/* Adam on gradients of constant mean with Gaussian noise of known sqr and var: it advances as far per unit
 * of progress as with M0 per update, in every 100 of progress, while the batch changes. */
static void test_adam_displacement (void **unused)
{
    (void)unused;
    enum { D = 4000, WINDOW = 100 };
    static const double betas[] = {0.99, 0.999};
    static const struct {
        double scale, until; /* progress */
    } phases[] = {{1, 2000}, {4, 4000}, {16, 6000}, {2, 8000}};
    const double sqr = 1, var = 12, beta1 = 0.9, eps = 1e-8; /* per element */
    struct rng rng = rng_seed (3);
    double *m = malloc (D * sizeof (double)), *v = malloc (D * sizeof (double));
    for (size_t k = 0; k < COUNT (betas); k++) {
        double beta2 = betas[k], progress = 0, moved = 0, begun = 0, b1 = 1, b2 = 1;
        double unit = 1 / sqrt (sqr + var); /* displacement of an update with M0 */
        struct second_moment moment = {0};
        for (int d = 0; d < D; d++)
            m[d] = v[d] = 0;
        for (size_t phase = 0; phase < COUNT (phases); phase++)
            while (progress < phases[phase].until) {
                double scale = phases[phase].scale, norm = 0, sum = 0;
                double gain = (sqr + var) / (sqr + var / scale);
                double keep = pow (beta1, gain);
                b1 *= keep;
                b2 *= beta2;
                for (int d = 0; d < D; d++) {
                    double g = sqrt (sqr) + sqrt (var / scale) * rng_gaussian (&rng);
                    m[d] = keep * m[d] + (1 - keep) * g;
                    v[d] = beta2 * v[d] + (1 - beta2) * g * g;
                    norm += g * g;
                    sum += m[d] / (1 - b1) / (sqrt (v[d] / (1 - b2)) + eps);
                }
                second_moment_measure (&moment, norm, gain);
                moment = second_moment_next (moment, beta2, gain);
                moved += second_moment_factor (moment, gain) * sum / D;
                progress += gain;
                if (progress - begun < WINDOW)
                    continue;
                double ratio = moved / (progress - begun) / unit;
                if (ratio < 0.9 || ratio > 1.1)
                    fail_msg ("beta2 %g, progress %g: %g of the displacement of M0", beta2,
                              progress, ratio);
                begun = progress;
                moved = 0;
            }
    }
    free (m);
    free (v);
}

/* At once after a change the factor is the gain; in the end its square root. */
static void test_second_moment (void **unused)
{
    (void)unused;
    struct second_moment moment = {0};
    for (int i = 0; i < 20000; i++)
        moment = second_moment_next (moment, 0.999, 1);
    assert_true (relative (second_moment_factor (moment, 1), 1) < 1e-12);
    moment = second_moment_next (moment, 0.999, 9);
    assert_true (relative (second_moment_factor (moment, 9), 9) < 1e-3);
    for (int i = 0; i < 20000; i++)
        moment = second_moment_next (moment, 0.999, 9);
    assert_true (relative (second_moment_factor (moment, 9), 3) < 1e-6);
    /* beta2 = 0 remembers nothing. */
    moment = second_moment_next ((struct second_moment){0}, 0, 9);
    assert_true (relative (second_moment_factor (moment, 9), 3) < 1e-12);
    /* Old gradients that were ten times as large are remembered longer. */
    struct second_moment large = {0}, equal = {0};
    for (int i = 0; i < 1000; i++) {
        second_moment_measure (&large, i < 500 ? 100 : 1, 1);
        large = second_moment_next (large, 0.999, i < 500 ? 1 : 4);
        equal = second_moment_next (equal, 0.999, i < 500 ? 1 : 4);
    }
    assert_true (second_moment_factor (large, 4) > second_moment_factor (equal, 4) + 0.3);
    second_moment_measure (&large, NAN, 1);
    second_moment_measure (&large, INFINITY, 1);
    second_moment_measure (&large, 0, 1);
    assert_true (second_moment_is_legal (&large));
}

/* ---- Probes --------------------------------------------------------------------------------- */

static void test_probes (void **unused)
{
    (void)unused;
    for (uint64_t update = 0; update < 300; update++) {
        bool later = update % (update < 128 ? 4 : 8) == 0;
        assert_int_equal (probe_is_due (update, false), update < 16 || later);
        assert_int_equal (probe_is_due (update, true), update >= 10 && (update < 26 || later));
    }
    static const struct {
        struct pollux_limits limits;
        struct pollux_batch batch, probe;
    } cases[] = {
        {{32, 1024, 1, 64, true}, {32, 0}, {16, 1}},  {{33, 1024, 1, 64, true}, {33, 0}, {17, 1}},
        {{33, 33, 1, 64, true}, {33, 0}, {16, 1}},    {{32, 1024, 32, 64, true}, {32, 0}, {32, 1}},
        {{32, 40, 32, 64, true}, {32, 0}, {32, 0}},   {{1, 64, 1, 64, true}, {1, 0}, {1, 1}},
        {{32, 1024, 1, 64, false}, {32, 0}, {32, 0}}, {{32, 1024, 1, 64, true}, {32, 1}, {32, 1}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_batch probe = probe_batch (&cases[i].limits, cases[i].batch);
        if (probe.m != cases[i].probe.m || probe.s != cases[i].probe.s)
            fail_msg ("case %zu: m %d, s %d", i, (int)probe.m, (int)probe.s);
    }
}

/* One replica that probes its noise takes a larger batch in one micro-step where the memory allows it:
 * every further micro-step costs alpha_grad once more. */
static void test_one_micro_step (void **unused)
{
    (void)unused;
    struct pollux_model model = {.alpha_grad = 0.01, .beta_grad = 5e-5, .gamma = 1};
    struct pollux_grad grad = {.sqr = 1, .var = 50, .gain_max = 4};
    struct pollux_shape one = {1, 1};
    static const struct {
        int64_t max_local;
        struct pollux_batch ret;
    } cases[] = {
        {1024, {64, 0}},
        {64, {64, 0}},
        {32, {32, 0}}, /* two micro-steps take twice the time of one: no change */
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_limits limits = {.init_batch = 32,
                                       .max_batch = 1024,
                                       .min_local = 1,
                                       .max_local = cases[i].max_local,
                                       .accumulation = true};
        struct pollux_batch batch = {32, 0};
        assert_true (adaptation_choose (&model, grad, &limits, one, false, &batch) ==
                     (cases[i].max_local > 32));
        assert_int_equal (batch.m, cases[i].ret.m);
        assert_int_equal (batch.s, cases[i].ret.s);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_by_the_book),
        cmocka_unit_test (test_without_evidence),
        cmocka_unit_test (test_outlier),
        cmocka_unit_test (test_gaussian),
        cmocka_unit_test (test_gain_limit),
        cmocka_unit_test (test_limit_needs_evidence),
        cmocka_unit_test (test_adam_displacement),
        cmocka_unit_test (test_second_moment),
        cmocka_unit_test (test_probes),
        cmocka_unit_test (test_data_allowance),
        cmocka_unit_test (test_turns),
        cmocka_unit_test (test_large_gains),
        cmocka_unit_test (test_growing_batch),
        cmocka_unit_test (test_lost_evidence),
        cmocka_unit_test (test_one_micro_step),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
