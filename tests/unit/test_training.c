/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training of one job: the split of a batch, exact times of an application with simple numbers,
 * jobs of the published runs to the second, and adaptive batches.
 */
#include "unit.h"

#include <errno.h>

#include "sim/profile.h"
#include "sim/training.h"

/* ---- Batches ------------------------------------------------------------------------------ */

/* M0, Mmax, smallest and largest local batch; a request on K replicas; m and s. */
static const struct {
    struct pollux_limits limits;
    int64_t batch;
    int replicas;
    int64_t m, s;
} splits[] = {
    {{128, 4096, 32, 1024, true}, 2048, 6, 342, 0},
    {{128, 4096, 32, 1024, true}, 4096, 16, 256, 0},
    {{128, 4096, 32, 1024, true}, 4096, 12, 341, 0}, /* 342 would pass Mmax */
    {{128, 4096, 32, 1024, true}, 4096, 2, 1024, 1},
    {{128, 4096, 32, 1024, true}, 128, 1, 128, 0},
    {{128, 4096, 32, 1024, true}, 129, 1, 65, 1}, /* one replica above M0 accumulates */
    {{128, 4096, 32, 1024, true}, 4096, 1, 1024, 3},
    {{128, 4096, 32, 1024, true}, 4095, 1, 1024, 3},
    {{256, 32768, 32, 32768, true}, 32768, 1, 16384, 1},
    {{12, 384, 4, 12, true}, 384, 6, 10, 5}, /* 64 in 6 parts of 11 would pass Mmax */
    {{12, 384, 4, 12, true}, 384, 16, 12, 1},
    {{8, 512, 4, 8, true}, 64, 4, 8, 1},
    {{200, 12800, 20, 200, true}, 6400, 48, 134, 0},
    {{20, 640, 10, 80, true}, 320, 6, 54, 0},
};

static void test_splits (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (splits); i++) {
        struct pollux_batch batch =
            batch_split (&splits[i].limits, splits[i].batch, splits[i].replicas);
        if (batch.m != splits[i].m || batch.s != splits[i].s)
            fail_msg ("%lld on %d: got m %lld, s %lld", (long long)splits[i].batch,
                      splits[i].replicas, (long long)batch.m, (long long)batch.s);
        assert_true (splits[i].replicas * batch.m * (batch.s + 1) <= splits[i].limits.max_batch);
    }
    /* With more replicas than samples a micro-batch still has a sample. */
    struct pollux_batch batch = batch_split (&splits[9].limits, 384, 1000);
    assert_int_equal (batch.m, 1);
}

/* ---- Time, on an application whose iterations take a second ------------------------------- */

/* One replica needs 1 s per micro-step.  The formula adds 1e-8 s of synchronisation, which is
 * invisible with a large gamma.  The noise gives a batch of 20 a gain of
 * (1 + 3) / (3/2 + 1) = 1.6. */
static struct ground_truth *simple_truth (double epoch_iterations, int epochs, double gamma)
{
    struct profile profile = {
        .name = "plain",
        .epochs = epochs,
        .epoch_iterations = epoch_iterations,
        .limits = {10, 20, 1, 20, true},
        .model = {.alpha_grad = 1, .alpha_node = 3, .alpha_local = 1, .gamma = gamma},
        .knot_count = 1,
        .batch_count = 1,
        .batches = {10},
        .ratio = {{3}},
    };
    struct ground_truth *truth = NULL;
    assert_int_equal (ground_truth_of_profiles (&profile, 1, &truth, NULL), 0);
    return truth;
}

static void advance (struct training *training, double seconds, double interference)
{
    struct pollux_error err;
    if (training_advance (training, seconds, interference, NULL, &err) < 0)
        fail_msg ("%s", err.text);
}

static void place (struct training *training, const int *counts, int nodes)
{
    assert_int_equal (training_place (training, training->app, counts, nodes, 30, NULL, NULL), 0);
}

static void test_time_passes (void **state)
{
    (void)state;
    struct ground_truth *truth = simple_truth (100, 2, 1);
    struct training job;
    training_init (&job, ground_truth_at (truth, 0), 10, false, 60);

    advance (&job, 60, 0); /* without slots only the clock moves */
    assert_true (job.clock_s == 120 && job.progress == 0 && job.attained_s == 0);

    place (&job, (int[]){1}, 1);
    assert_int_equal (job.batch.m, 10);
    advance (&job, 20, 0); /* within the delay */
    assert_true (job.clock_s == 140 && job.progress == 0 && job.delay_s == 10);
    assert_true (job.attained_s == 20);
    advance (&job, 60, 0); /* 10 s of delay, 50 iterations */
    assert_true (job.clock_s == 200 && job.delay_s == 0 && job.attained_s == 80);
    assert_true (fabs (job.progress - 50) < 1e-5);

    advance (&job, 20, 0.5); /* at half the speed */
    assert_true (fabs (job.progress - 60) < 1e-5);
    advance (&job, 20, 1); /* and at none */
    assert_true (fabs (job.progress - 60) < 1e-5 && job.clock_s == 240);

    place (&job, NULL, 0); /* stops */
    advance (&job, 60, 0);
    assert_true (job.clock_s == 300 && job.attained_s == 120);
    assert_int_equal (job.replicas, 0);

    place (&job, (int[]){1}, 1);
    advance (&job, 600, 0); /* 30 s of delay, 40 s, 100 s, and the rest idle */
    assert_true (training_done (&job));
    assert_true (job.completed_s == 300 + 30 + 40 + 100);
    assert_true (job.clock_s == 900);
    assert_true (job.attained_s == 120 + 170);
    advance (&job, 60, 0); /* a completed job does not change */
    assert_true (job.clock_s == 900 && job.completed_s == 470);
    training_clear (&job);
    ground_truth_free (truth);
}

/* Epochs end at whole seconds, rounded half to even. */
static void test_whole_seconds (void **state)
{
    static const struct {
        double epoch_iterations, interval_s;
        int epochs;
        double completed_s;
    } cases[] = {
        {2.25, 60, 1, 2},    {2.5, 60, 1, 2},
        {3.5, 60, 1, 4},     {2.75, 60, 1, 3},
        {2.5, 60, 4, 8},     {3.5, 60, 4, 16},
        {0.25, 60, 100, 0},  {100.4, 60, 1, 100},
        {99.6, 1, 1, 100},   {7, 2.5, 1, 7},
        {2.45, 2.4, 1, 2.4}, {2.6, 2.6, 1, 2.6}, /* no whole second is left there */
    };
    (void)state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct ground_truth *truth = simple_truth (cases[i].epoch_iterations, cases[i].epochs, 10);
        struct training job;
        training_init (&job, ground_truth_at (truth, 0), 10, false, 0);
        assert_int_equal (training_place (&job, job.app, (int[]){1}, 1, 0, NULL, NULL), 0);
        for (int round = 0; !training_done (&job) && round < 1000; round++)
            advance (&job, cases[i].interval_s, 0);
        if (fabs (job.completed_s - cases[i].completed_s) > 1e-6)
            fail_msg ("%g iterations, %d epochs: %g s", cases[i].epoch_iterations, cases[i].epochs,
                      job.completed_s);
        training_clear (&job);
        ground_truth_free (truth);
    }
}

/* The rate depends on replicas, gain and accumulation. */
static void test_rates (void **state)
{
    static const struct {
        int64_t batch;
        int counts[2], nodes;
        double rate;
    } cases[] = {
        {10, {1}, 1, 1},                     /* M = M0 */
        {20, {1}, 1, 1.6 / 2},               /* s = 1: two micro-steps */
        {20, {2}, 1, 1.6 / 2},               /* 1 + 1 s, synchronised locally */
        {20, {1, 1}, 2, 1.6 / 4},            /* 1 + 3 s over the network */
        {15, {2}, 1, 4 / (3 / 1.6 + 1) / 2}, /* 8 on each: M = 16 */
    };
    (void)state;
    struct ground_truth *truth = simple_truth (1e6, 1, 1);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct training job;
        training_init (&job, ground_truth_at (truth, 0), cases[i].batch, false, 0);
        assert_int_equal (
            training_place (&job, job.app, cases[i].counts, cases[i].nodes, 0, NULL, NULL), 0);
        advance (&job, 1000, 0);
        if (relative (job.progress, 1000 * cases[i].rate) > 1e-6)
            fail_msg ("case %zu: rate %g, expected %g", i, job.progress / 1000, cases[i].rate);
        training_clear (&job);
    }
    ground_truth_free (truth);
}

/* ---- Jobs of the published runs ----------------------------------------------------------- */

/* The first jobs of workloads 1 and 3 under tiresias: when and where they were placed, and their
 * completion times. */
static const struct {
    const char *app;
    int64_t batch;
    int counts[4], nodes;
    double placed_s, completed_s;
} runs[] = {
    {"cifar10", 2048, {4, 2}, 2, 120, 107 + 953},
    {"deepspeech2", 320, {4, 2}, 2, 120, 110 + 4182},
    {"ncf", 32768, {1}, 1, 180, 135 + 122},
    {"ncf", 32768, {1}, 1, 840, 791 + 126},
    {"cifar10", 4096, {4, 4, 4}, 3, 1200, 1151 + 703},
    {"cifar10", 4096, {4, 4, 4}, 3, 1320, 1315 + 659},
};

static void test_published_jobs (void **state)
{
    (void)state;
    struct ground_truth *truth;
    struct pollux_error err;
    fclose (golden_open (TEST_DATA "osdi21/traces/bert/placements.csv"));
    if (ground_truth_from_traces (TEST_DATA "osdi21/traces", &truth, &err) < 0)
        fail_msg ("%s", err.text);
    for (size_t i = 0; i < COUNT (runs); i++) {
        struct training job;
        training_init (&job, ground_truth_app (truth, runs[i].app), runs[i].batch, false, 0);
        while (!training_done (&job)) {
            if (job.clock_s == runs[i].placed_s)
                place (&job, runs[i].counts, runs[i].nodes);
            advance (&job, 60, 0);
        }
        if (job.completed_s != runs[i].completed_s)
            fail_msg ("%s of run %zu: %.17g s", runs[i].app, i, job.completed_s);
        assert_false (job.modelled);
        training_clear (&job);
    }
    ground_truth_free (truth);
}

/* ---- Adapting ----------------------------------------------------------------------------- */

struct counter {
    struct batch_adapter adapter;
    int calls;
};

static int count_choices (void *self, const struct training *training, struct pollux_batch *ret,
                          struct pollux_error *err)
{
    struct counter *counter = self;
    counter->calls++;
    return batch_adapt (&counter->adapter, training, ret, err);
}

static void test_adapting (void **state)
{
    (void)state;
    struct ground_truth *truth = NULL;
    assert_int_equal (ground_truth_from_profiles (NULL, &truth, NULL), 0);
    const struct app *app = ground_truth_app (truth, "cifar10");
    struct counter counter = {.adapter.search = POLLUX_EXACT};
    struct batch_chooser chooser = {.choose = count_choices, .self = &counter};
    struct training job;
    training_init (&job, app, 0, false, 0);
    assert_true (isnan (job.grad.sqr) && training_samples (&job)->max_replicas == 0);

    /* Without samples: M0, or the smallest local batch on all replicas. */
    assert_int_equal (training_place (&job, job.app, (int[]){2}, 1, 30, &chooser, NULL), 0);
    assert_int_equal (job.batch.m, 64);
    assert_int_equal (training_place (&job, job.app, (int[]){4, 4}, 2, 30, &chooser, NULL), 0);
    assert_int_equal (job.batch.m, 32);
    assert_int_equal (counter.calls, 2);

    /* With one sample it chooses by the fitted model. */
    assert_int_equal (training_advance (&job, 60, 0, &chooser, NULL), 0);
    assert_int_equal (training_samples (&job)->count, 1);
    assert_int_equal (training_samples (&job)->list[0].shape.nodes, 2);
    assert_int_equal (training_samples (&job)->list[0].shape.replicas, 8);
    assert_int_equal (training_samples (&job)->list[0].m, 32);
    assert_int_equal (training_samples (&job)->max_replicas, 8);
    assert_int_equal (counter.adapter.fits[0].count, 1);
    int counts[] = {4, 4};
    struct app_step step = app_step (app, counts, 2, 32);
    assert_true (training_samples (&job)->list[0].step_s == step.step_s);
    assert_true (training_samples (&job)->list[0].grad_s == step.step_s - step.sync_s);

    struct pollux_best best;
    assert_int_equal (pollux_best_batch (&counter.adapter.fits[0].fit.model, job.grad,
                                         app_limits (app), POLLUX_EXACT,
                                         (struct pollux_shape){2, 8}, &best, NULL),
                      0);
    assert_int_equal (job.batch.m, best.batch.m);
    assert_int_equal (job.batch.s, best.batch.s);

    /* Without new samples the chooser is not called again. */
    int calls = counter.calls, epochs = job.epochs;
    size_t samples = training_samples (&job)->count;
    for (int i = 0; i < 2000 && !training_done (&job); i++) {
        assert_int_equal (training_advance (&job, 1, 0, &chooser, NULL), 0);
        const struct pollux_limits *limits = app_limits (app);
        int64_t total = 8 * job.batch.m * (job.batch.s + 1);
        assert_true (total <= limits->max_batch && total >= limits->init_batch);
    }
    int news = job.epochs - epochs + (int)(training_samples (&job)->count - samples);
    assert_true (job.epochs > epochs && counter.calls - calls <= 2 * news + 1);
    for (size_t i = 0; i < training_samples (&job)->count; i++) /* one sample per configuration */
        for (size_t j = 0; j < i; j++)
            assert_true (training_samples (&job)->list[i].m != training_samples (&job)->list[j].m);
    training_clear (&job);
    ground_truth_free (truth);
}

static int refuse (void *self, const struct training *training, struct pollux_batch *ret,
                   struct pollux_error *err)
{
    (void)self;
    (void)training;
    (void)ret;
    (void)err;
    return -EPERM;
}

static void test_chooser_fails (void **state)
{
    (void)state;
    struct ground_truth *truth = simple_truth (10, 3, 1);
    struct batch_adapter adapter = {.search = POLLUX_REFERENCE};
    struct batch_chooser good = {.choose = batch_adapt, .self = &adapter};
    struct batch_chooser bad = {.choose = refuse};
    struct training job;
    training_init (&job, ground_truth_at (truth, 0), 0, false, 0);
    assert_int_equal (training_place (&job, job.app, (int[]){1}, 1, 0, &bad, NULL), -EPERM);
    assert_int_equal (training_place (&job, job.app, (int[]){1}, 1, 0, &good, NULL), 0);
    assert_int_equal (training_advance (&job, 5, 0, &bad, NULL), -EPERM);
    training_clear (&job);
    training_clear (&job); /* a second call is allowed */
    ground_truth_free (truth);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_splits),         cmocka_unit_test (test_time_passes),
        cmocka_unit_test (test_whole_seconds),  cmocka_unit_test (test_rates),
        cmocka_unit_test (test_published_jobs), cmocka_unit_test (test_adapting),
        cmocka_unit_test (test_chooser_fails),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
