/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best batch: the reference search against the published implementation's choices, the
 * exact search against brute force, and both against each other on random jobs.
 */
#include "unit.h"
#include "base/rng.h"
#include "model/model.h"
#include "pollux/pollux.h"

#include <errno.h>

struct job {
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits;
};

static void golden_best_batch (void **state)
{
    (void)state;
    FILE *file = golden_open (TEST_DATA "golden/best_batch.csv");
    char header[4096];
    assert_non_null (fgets (header, sizeof (header), file));
    double v[19];
    int rows = 0;
    while (golden_row (file, v, COUNT (v))) {
        struct pollux_model model = {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
        struct pollux_grad grad = {.sqr = v[7], .var = v[8]};
        struct pollux_limits limits = {(int64_t)v[9], (int64_t)v[10], (int64_t)v[11],
                                       (int64_t)v[12], v[13] != 0};
        struct pollux_shape shape = {(int)v[14], (int)v[15]};
        struct pollux_best best, exact;
        assert_int_equal (
            0, pollux_best_batch (&model, grad, &limits, POLLUX_REFERENCE, shape, &best, NULL));
        assert_true (relative (best.goodput, v[16]) <= 1e-12);
        assert_int_equal (best.batch.m, (int64_t)v[17]);
        assert_int_equal (best.batch.s, (int64_t)v[18]);
        assert_int_equal (
            0, pollux_best_batch (&model, grad, &limits, POLLUX_EXACT, shape, &exact, NULL));
        if (pollux_total_batch (shape, best.batch) <= (double)limits.max_batch)
            assert_true (exact.goodput >= best.goodput);
        rows++;
    }
    fclose (file);
    assert_true (rows > 100);
}

/* A random job with batches up to init_most; sometimes with extreme parameters. */
static struct job random_job (struct rng *rng, double init_most, double growth_most)
{
    struct job job = {
        .model = {.alpha_grad = log_uniform (rng, 1e-4, 1),
                  .beta_grad = log_uniform (rng, 1e-6, 1e-1),
                  .alpha_node = log_uniform (rng, 1e-4, 2),
                  .beta_node = log_uniform (rng, 1e-7, 1e-1),
                  .alpha_local = log_uniform (rng, 1e-4, 1),
                  .beta_local = log_uniform (rng, 1e-7, 1e-1),
                  .gamma = 1 + 9 * rng_uniform (rng)},
        .grad = {.sqr = log_uniform (rng, 1e-6, 1e2), .var = log_uniform (rng, 1e-4, 1e3)},
    };
    struct pollux_limits *limits = &job.limits;
    limits->init_batch = (int64_t)log_uniform (rng, 1, init_most);
    limits->max_batch = (int64_t)((double)limits->init_batch * log_uniform (rng, 1, growth_most));
    limits->max_local = 1 + (int64_t)rng_below (rng, 2 * (uint64_t)limits->init_batch);
    limits->min_local = 1 + (int64_t)rng_below (rng, (uint64_t)limits->max_local);
    limits->accumulation = rng_below (rng, 4) > 0;
    if (limits->max_batch % 3 == 0)
        job.grad.gain_max = 1 + (double)(limits->max_batch % 97) / 7;
    switch (rng_below (rng, 20)) {
    case 0:
        job.grad.sqr = 0;
        break;
    case 1:
        job.grad.var = 0;
        break;
    case 2:
        job.model.alpha_grad = 0;
        break;
    case 3:
        job.model.beta_grad = 0;
        break;
    case 4:
        job.model.gamma = 1;
        break;
    case 5:
        job.model.alpha_local = job.model.beta_local = 0;
        break;
    default:
        break;
    }
    return job;
}

static struct pollux_shape random_shape (struct rng *rng, int replicas_most)
{
    int replicas = 1 + (int)rng_below (rng, (uint64_t)replicas_most);
    return (struct pollux_shape){.nodes = 1 + (int)rng_below (rng, (uint64_t)replicas),
                                 .replicas = replicas};
}

/* The definition of the exact search: try everything. */
static double brute_force (const struct job *job, struct pollux_shape shape)
{
    const struct pollux_limits *limits = &job->limits;
    double best = 0;
    for (int64_t s = 0; s == 0 || limits->accumulation; s++) {
        if (shape.replicas * limits->min_local * (s + 1) > limits->max_batch)
            break;
        for (int64_t m = limits->min_local; m <= limits->max_local; m++) {
            int64_t total = shape.replicas * m * (s + 1);
            if (total < limits->init_batch || total > limits->max_batch)
                continue;
            if (shape.replicas == 1 && limits->accumulation && s == 0 &&
                total > limits->init_batch && !(job->grad.gain_max > 0))
                continue;
            best = fmax (best, pollux_goodput (&job->model, job->grad, limits->init_batch, shape,
                                               (struct pollux_batch){m, s}));
        }
    }
    return best;
}

static void exact_is_brute_force (void **state)
{
    (void)state;
    struct rng rng = rng_seed (3);
    int feasible = 0;
    for (int i = 0; i < soak_count (200000); i++) {
        struct job job = random_job (&rng, 100, 40);
        struct pollux_shape shape = random_shape (&rng, 12);
        double want = brute_force (&job, shape);
        struct pollux_best best;
        assert_int_equal (0, pollux_best_batch (&job.model, job.grad, &job.limits, POLLUX_EXACT,
                                                shape, &best, NULL));
        if (best.goodput < want * (1 - 1e-14) || best.goodput > want)
            fail_msg ("case %d: exact %.17g, brute force %.17g", i, best.goodput, want);
        feasible += want > 0;
        if (want == 0)
            assert_int_equal (best.batch.m, 0);
    }
    assert_true (feasible > soak_count (200000) / 4);
}

/* The best of the reference's 50 samples that respect max_batch; an independent implementation. */
static double best_lawful_sample (const struct job *job, struct pollux_shape shape)
{
    const struct pollux_limits *limits = &job->limits;
    double first = fmax ((double)limits->init_batch, (double)limits->min_local * shape.replicas);
    double best = 0;
    for (int i = 0; i < 50; i++) {
        double local = first * pow ((double)limits->max_batch / first, i / 49.0) / shape.replicas;
        double s = limits->accumulation ? ceil (local / (double)limits->max_local - 1e-8) - 1 : 0;
        if (limits->accumulation && shape.replicas == 1 && local > (double)limits->init_batch)
            s = fmax (s, 1);
        double m = ceil (local / (s + 1) - 1e-8);
        struct pollux_batch batch = {(int64_t)m, (int64_t)s};
        double total = pollux_total_batch (shape, batch);
        if (m < (double)limits->min_local || m > (double)limits->max_local ||
            total > (double)limits->max_batch || total < (double)limits->init_batch)
            continue;
        best =
            fmax (best, pollux_goodput (&job->model, job->grad, limits->init_batch, shape, batch));
    }
    return best;
}

static void exact_is_never_below_reference (void **state)
{
    (void)state;
    struct rng rng = rng_seed (4);
    int compared = 0, cases = soak_count (1000000); /* 1e5 in a short run */
    for (int i = 0; i < cases; i++) {
        struct job job = random_job (&rng, 10000, 1000);
        struct pollux_shape shape = random_shape (&rng, i % 2 ? 8 : 256);
        struct pollux_limits *limits = &job.limits;
        struct pollux_best exact;
        assert_int_equal (
            0, pollux_best_batch (&job.model, job.grad, limits, POLLUX_EXACT, shape, &exact, NULL));
        if (exact.goodput > 0) {
            double total = pollux_total_batch (shape, exact.batch);
            assert_true (total >= (double)limits->init_batch);
            assert_true (total <= (double)limits->max_batch);
            assert_true (exact.batch.m >= limits->min_local && exact.batch.m <= limits->max_local);
            assert_true (exact.batch.s == 0 || limits->accumulation);
            double again =
                pollux_goodput (&job.model, job.grad, limits->init_batch, shape, exact.batch);
            assert_true (exact.goodput == again);
        }
        double sample = best_lawful_sample (&job, shape);
        if (exact.goodput < sample * (1 - 1e-14))
            fail_msg ("case %d: exact %.17g, a sample of the reference %.17g", i, exact.goodput,
                      sample);
        compared += sample > 0;
    }
    assert_true (compared > cases / 4);
}

/* Jobs for which many batches have exactly the same goodput. */
static void ties_go_to_the_smaller_batch (void **state)
{
    (void)state;
    static const struct {
        struct job job;
        int replicas;
        struct pollux_batch want;
    } cases[] = {
        /* The step time does not depend on the batch, and a larger batch gains nothing. */
        {{{0.5, 0, 0, 0, 0.25, 0, 1}, {.sqr = 1, .var = 0}, {64, 4096, 1, 256, false}}, 4, {16, 0}},
        {{{0.5, 0, 0, 0, 0.25, 0, 1}, {.sqr = 0, .var = 0}, {64, 4096, 1, 256, true}}, 4, {16, 0}},
        {{{0.5, 0, 0, 0, 0.25, 0, 1}, {.sqr = 1, .var = 0}, {64, 4096, 40, 256, true}}, 4, {40, 0}},
        /* Only noise, and the step time is proportional to the samples. */
        {{{0, 0.25, 0, 0, 0, 0, 1}, {.sqr = 0, .var = 1}, {64, 4096, 1, 256, false}}, 4, {16, 0}},
        {{{0, 0.25, 0, 0, 0, 0, 1}, {.sqr = 0, .var = 1}, {64, 4096, 1, 4, true}}, 4, {4, 3}},
        /* The largest m is best, and accumulation costs nothing. */
        {{{0.5, 0.25, 0, 0, 0, 0, 1}, {.sqr = 0, .var = 1}, {64, 4096, 1, 8, true}}, 4, {8, 1}},
        {{{0.5, 0.25, 0, 0, 0, 0, 3}, {.sqr = 0, .var = 1}, {64, 4096, 1, 8, true}}, 4, {8, 1}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        const struct job *job = &cases[i].job;
        struct pollux_best best;
        assert_int_equal (0, pollux_best_batch (&job->model, job->grad, &job->limits, POLLUX_EXACT,
                                                (struct pollux_shape){1, cases[i].replicas}, &best,
                                                NULL));
        if (best.batch.m != cases[i].want.m || best.batch.s != cases[i].want.s)
            fail_msg ("case %zu: m %lld, s %lld", i, (long long)best.batch.m,
                      (long long)best.batch.s);
    }
}

static void curve_is_pointwise (void **state)
{
    (void)state;
    enum { MOST = 64 };
    struct rng rng = rng_seed (5);
    struct pollux_best one[MOST], many[MOST], best;
    for (int i = 0; i < 300; i++) {
        struct job job = random_job (&rng, 1000, 100);
        enum pollux_search search = i % 2 ? POLLUX_EXACT : POLLUX_REFERENCE;
        assert_int_equal (
            0, pollux_curve (&job.model, job.grad, &job.limits, search, MOST, one, many, NULL));
        assert_true (many[0].goodput == 0);
        for (int k = 1; k <= MOST; k++)
            for (int nodes = 1; nodes <= (k > 1 ? 2 : 1); nodes++) {
                const struct pollux_best *point = nodes == 1 ? &one[k - 1] : &many[k - 1];
                assert_int_equal (0,
                                  pollux_best_batch (&job.model, job.grad, &job.limits, search,
                                                     (struct pollux_shape){nodes, k}, &best, NULL));
                assert_true (best.goodput == point->goodput);
                assert_true (best.batch.m == point->batch.m && best.batch.s == point->batch.s);
            }
    }
    struct job job = random_job (&rng, 1000, 100);
    assert_int_equal (
        0, pollux_curve (&job.model, job.grad, &job.limits, POLLUX_EXACT, MOST, NULL, many, NULL));
}

static void extremes_return (void **state)
{
    (void)state;
    const int64_t most = POLLUX_BATCH_LIMIT;
    const struct job jobs[] = {
        {{1e-8, 1e-8, 1e-8, 1e-8, 1e-8, 1e-8, 1},
         {.sqr = 1e-300, .var = 1e300},
         {1, most, 1, most, true}},
        {{1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 10}, {.sqr = 1e300, .var = 1e-300}, {1, most, 1, 1, true}},
        {{0, 1e-9, 0, 0, 0, 0, 1}, {.sqr = 1, .var = 1}, {most - 1, most, 1, 1000003, true}},
        {{1e-9, 0, 0, 0, 0, 0, 3}, {.sqr = 0, .var = 0}, {1, most, 1, most, true}},
        {{1e-300, 1e-300, 1e300, 1e300, 1e-300, 0, 50}, {.sqr = 1, .var = 1}, {7, 7, 7, 7, false}},
        /* Synchronisation, then also computation, overflows. */
        {{0.1, 0.01, 1e308, 1e308, 1e308, 1e308, 2}, {.sqr = 1, .var = 1}, {8, most, 1, 64, true}},
        {{1e308, 1e308, 1, 1, 1, 1, 2}, {.sqr = 1, .var = 1}, {8, most, 1, 64, true}},
    };
    for (size_t i = 0; i < COUNT (jobs); i++)
        for (int k = 1; k <= POLLUX_REPLICAS_LIMIT; k *= 8)
            for (int nodes = 1; nodes <= k && nodes <= 2; nodes++) {
                struct pollux_best best;
                struct pollux_shape shape = {nodes, k};
                assert_int_equal (0,
                                  pollux_best_batch (&jobs[i].model, jobs[i].grad, &jobs[i].limits,
                                                     POLLUX_EXACT, shape, &best, NULL));
                assert_true (!isnan (best.goodput));
                assert_true (best.goodput == 0 ||
                             best.goodput == pollux_goodput (&jobs[i].model, jobs[i].grad,
                                                             jobs[i].limits.init_batch, shape,
                                                             best.batch));
                assert_true (pollux_total_batch (shape, best.batch) <=
                             (double)jobs[i].limits.max_batch);
            }
}

/* A max_local that means "no limit". */
static void unlimited_is_as_good_as_large (void **state)
{
    (void)state;
    const struct pollux_model model = {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2};
    const struct pollux_grad grad = {.sqr = 1, .var = 10};
    for (int search = POLLUX_EXACT; search <= POLLUX_REFERENCE; search++)
        for (int k = 1; k <= 8; k++) {
            struct pollux_best large, unlimited;
            struct pollux_limits limits = {4, 64, 1, 64, true};
            assert_int_equal (0,
                              pollux_best_batch (&model, grad, &limits, (enum pollux_search)search,
                                                 (struct pollux_shape){1, k}, &large, NULL));
            limits.max_local = POLLUX_BATCH_LIMIT;
            assert_int_equal (0,
                              pollux_best_batch (&model, grad, &limits, (enum pollux_search)search,
                                                 (struct pollux_shape){1, k}, &unlimited, NULL));
            assert_true (large.goodput > 0 && unlimited.goodput == large.goodput);
            assert_memory_equal (&large.batch, &unlimited.batch, sizeof (large.batch));
        }
}

static void illegal_inputs_are_named (void **state)
{
    (void)state;
    const struct job good = {
        {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 16, 64, true}};
    struct pollux_best best;
    const struct {
        struct job job;
        const char *name;
    } cases[] = {
        {{{-1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 16, 64, true}},
         "alpha_grad"},
        {{{0.1, NAN, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 16, 64, true}},
         "beta_grad"},
        {{{0, 0, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 16, 64, true}},
         "beta_grad"},
        {{{0.1, 0.01, 0.2, 0.02, INFINITY, 0.01, 2},
          {.sqr = 1, .var = 1},
          {128, 1024, 16, 64, true}},
         "alpha_local"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 0.5}, {.sqr = 1, .var = 1}, {128, 1024, 16, 64, true}},
         "gamma"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = -1, .var = 1}, {128, 1024, 16, 64, true}},
         "sqr"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = NAN}, {128, 1024, 16, 64, true}},
         "var"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {1, 1, 0.5}, {128, 1024, 16, 64, true}},
         "gain_max"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {1, 1, INFINITY}, {128, 1024, 16, 64, true}},
         "gain_max"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 127, 16, 64, true}},
         "max_batch"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {0, 127, 16, 64, true}},
         "init_batch"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 65, 64, true}},
         "min_local"},
        {{{0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 2}, {.sqr = 1, .var = 1}, {128, 1024, 0, 64, true}},
         "min_local"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_error err = {""};
        const struct job *job = &cases[i].job;
        best.goodput = 42;
        assert_int_equal (-EINVAL,
                          pollux_best_batch (&job->model, job->grad, &job->limits, POLLUX_EXACT,
                                             (struct pollux_shape){1, 1}, &best, &err));
        if (!strstr (err.text, cases[i].name))
            fail_msg ("'%s' does not name %s", err.text, cases[i].name);
        assert_true (best.goodput == 42);
    }
    const struct pollux_shape shapes[] = {{0, 1}, {2, 1}, {1, 0}, {1, POLLUX_REPLICAS_LIMIT + 1}};
    for (size_t i = 0; i < COUNT (shapes); i++)
        assert_int_equal (-EINVAL, pollux_best_batch (&good.model, good.grad, &good.limits,
                                                      POLLUX_EXACT, shapes[i], &best, NULL));
    assert_int_equal (-EINVAL, pollux_curve (&good.model, good.grad, &good.limits, POLLUX_EXACT, 0,
                                             NULL, NULL, NULL));
}

/* The published search as published: all 50 batches. */
static struct pollux_best all_samples (const struct job *job, struct pollux_shape shape)
{
    const struct pollux_limits *limits = &job->limits;
    struct pollux_best best = {0};
    double first = fmax ((double)limits->init_batch, (double)limits->min_local * shape.replicas);
    double last = (double)limits->max_batch, log_first = log10 (first);
    double step = (log10 (last) - log_first) / 49;
    for (int i = 0; i < 50; i++) {
        double total = i == 0 ? first : i == 49 ? last : pow (10, i * step + log_first);
        double local = total / shape.replicas, s = 0;
        if (limits->accumulation) {
            s = fmax (ceil (local / (double)limits->max_local - 1e-8) - 1, 0);
            if (shape.replicas == 1 && local > (double)limits->init_batch + 1e-8)
                s = fmax (s, 1);
        }
        struct pollux_batch batch = {.m = (int64_t)ceil (local / (s + 1) - 1e-8), .s = (int64_t)s};
        if (batch.m < limits->min_local || batch.m > limits->max_local)
            continue;
        double goodput = pollux_goodput (&job->model, job->grad, limits->init_batch, shape, batch);
        bool smaller = batch.m * (batch.s + 1) < best.batch.m * (best.batch.s + 1);
        if (goodput > best.goodput || (goodput > 0 && goodput == best.goodput && smaller))
            best = (struct pollux_best){.batch = batch, .goodput = goodput};
    }
    return best;
}

static void reference_is_all_samples (void **state)
{
    (void)state;
    struct rng rng = rng_seed (9);
    for (int i = 0; i < soak_count (200000); i++) {
        struct job job = random_job (&rng, i % 2 ? 64 : 4096, 200);
        struct pollux_shape shape = random_shape (&rng, i % 3 ? 8 : 400);
        if (i % 10 == 0) {
            /* No limits, and nearly all batches equal: only rounding distinguishes them. */
            job.limits.max_batch = job.limits.max_local = POLLUX_BATCH_LIMIT;
            job.grad.sqr = 0;
            job.model.alpha_grad *= i % 20 && job.model.beta_grad > 0 ? 0 : 1;
        }
        struct pollux_best best, plain = all_samples (&job, shape);
        assert_int_equal (0, pollux_best_batch (&job.model, job.grad, &job.limits, POLLUX_REFERENCE,
                                                shape, &best, NULL));
        if (best.goodput != plain.goodput || best.batch.m != plain.batch.m ||
            best.batch.s != plain.batch.s)
            fail_msg ("case %d: %.17g with m %lld, s %lld; all samples: %.17g with %lld, %lld", i,
                      best.goodput, (long long)best.batch.m, (long long)best.batch.s, plain.goodput,
                      (long long)plain.batch.m, (long long)plain.batch.s);
    }
}

/* No number of replicas in a range has more goodput than the bound of the range.  For a range of one
 * number the bound is tight, if the best batch is not at a limit and is large. */
static void ranges_are_bounded (void **state)
{
    (void)state;
    struct rng rng = rng_seed (8);
    int inside = 0, tight = 0, count = soak_count (200000);
    for (int i = 0; i < count; i++) {
        struct job job = random_job (&rng, i % 2 ? 64 : 4096, 200);
        enum pollux_search search = i % 3 ? POLLUX_EXACT : POLLUX_REFERENCE;
        int nodes = 1 + (int)rng_below (&rng, 2);
        int low = nodes + (int)rng_below (&rng, 200), high = low + (int)rng_below (&rng, 64);
        struct pollux_shape shape = {
            .nodes = nodes, .replicas = low + (int)rng_below (&rng, (uint64_t)(high - low) + 1)};
        struct pollux_best best;
        assert_int_equal (
            0, pollux_best_batch (&job.model, job.grad, &job.limits, search, shape, &best, NULL));
        double guess = rng_below (&rng, 2) ? log_uniform (&rng, 1, 1e6)
                                           : pollux_total_batch (shape, best.batch);
        double bound =
            model_goodput_bound (&job.model, job.grad, &job.limits, nodes, low, high, guess);
        if (!(bound >= best.goodput))
            fail_msg ("case %d: bound %.17g, goodput %.17g", i, bound, best.goodput);
        double total = pollux_total_batch (shape, best.batch);
        if (search == POLLUX_EXACT && best.batch.s == 0 && best.batch.m > job.limits.min_local &&
            best.batch.m < job.limits.max_local && best.batch.m > 50 &&
            total < 0.9 * (double)job.limits.max_batch) {
            double point = model_goodput_bound (&job.model, job.grad, &job.limits, nodes,
                                                shape.replicas, shape.replicas, guess);
            inside++;
            tight += point <= best.goodput * 1.02;
        }
    }
    assert_true (count < 1000 || inside > count / 1000); /* with few cases there may be none */
    assert_true (tight >= 0.95 * inside);
}

static void totals_are_split (void **state)
{
    (void)state;
    static const struct {
        int64_t total;
        int replicas;
        int64_t max_local, min_steps, m, s;
    } cases[] = {
        {1, 1, 1, 1, 1, 0},     {256, 4, 64, 1, 64, 0}, {256, 4, 63, 1, 32, 1},
        {256, 3, 64, 1, 43, 1}, {100, 8, 256, 2, 7, 1}, {INT64_MAX, 1, INT64_MAX, 1, INT64_MAX, 0},
        {0, 1, 1, 1, 0, 0},     {256, 0, 64, 1, 0, 0},  {256, 4, 0, 1, 0, 0},
        {256, 4, 64, 0, 0, 0},  {-5, 1, 1, 1, 0, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_batch batch = pollux_split_batch (cases[i].total, cases[i].replicas,
                                                        cases[i].max_local, cases[i].min_steps);
        assert_int_equal (batch.m, cases[i].m);
        assert_int_equal (batch.s, cases[i].s);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (totals_are_split),
        cmocka_unit_test (golden_best_batch),
        cmocka_unit_test (exact_is_brute_force),
        cmocka_unit_test (exact_is_never_below_reference),
        cmocka_unit_test (ties_go_to_the_smaller_batch),
        cmocka_unit_test (curve_is_pointwise),
        cmocka_unit_test (reference_is_all_samples),
        cmocka_unit_test (ranges_are_bounded),
        cmocka_unit_test (extremes_return),
        cmocka_unit_test (unlimited_is_as_good_as_large),
        cmocka_unit_test (illegal_inputs_are_named),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
