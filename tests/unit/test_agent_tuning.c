/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the agent measures, fits and changes its batch, with a simulated clock.
 */
#include "unit.h"

#include "agent/agent.h"

static double clock_of (void *context)
{
    return *(double *)context;
}

/* A job with a simulated clock; the model `truth` gives the times of its steps. */
struct job {
    struct pollux_agent *agent;
    struct pollux_setup setup;
    double clock_s;
    struct pollux_model truth;
    double phi; /* noise scale of its gradients */
    int fits, changes;
};

static void job_open (struct job *job, int nodes, int replicas)
{
    *job = (struct job){.truth = {0.02, 0.0005, 0.05, 0.004, 0.01, 0.001, 1.6}, .phi = 500};
    pollux_setup_default (64, &job->setup);
    job->setup.limits = (struct pollux_limits){64, 8192, 1, 512, true};
    job->setup.world.shape = (struct pollux_shape){nodes, replicas};
}

static void job_start (struct job *job)
{
    struct pollux_error err;
    if (pollux_agent_open (&job->setup, &job->agent, &err) < 0)
        fail_msg ("%s", err.text);
    job->agent->now_s = clock_of;
    job->agent->clock = &job->clock_s;
}

static struct pollux_advice advise (struct job *job)
{
    size_t count;
    struct pollux_advice advice;
    struct pollux_batch before = job->agent->advice.batch;
    double fitted_at_s = job->agent->tuner.fitted_at_s;
    pollux_agent_decide (job->agent, &count);
    assert_int_equal (pollux_agent_follow (job->agent, &advice, NULL), 0);
    job->fits += job->agent->tuner.fitted_at_s != fitted_at_s;
    job->changes += advice.batch.m != before.m || advice.batch.s != before.s;
    return advice;
}

/* One update with gradients that have exactly the noise scale phi. */
static struct pollux_advice step (struct job *job)
{
    struct pollux_agent *agent = job->agent;
    struct pollux_batch batch = agent->advice.batch;
    struct pollux_shape shape = agent->world.shape;
    double grad_s = pollux_grad_time (&job->truth, batch.m);
    double micro_sqr = 1 + job->phi / (double)batch.m, n = shape.replicas * (double)(batch.s + 1);
    double mean_sqr = 1 + job->phi / (double)batch.m / n;
    double dot = 1, diff_sqr = 2 * job->phi / (double)(batch.m * (batch.s + 1));
    pollux_agent_step_begin (agent);
    job->clock_s += (double)(batch.s + 1) * grad_s;
    pollux_agent_sync_begin (agent);
    job->clock_s += pollux_iter_time (&job->truth, shape, batch) - (double)(batch.s + 1) * grad_s;
    pollux_agent_sync_end (agent);
    if (n > 1)
        assert_int_equal (pollux_agent_gradients (agent, batch.s + 1, &micro_sqr, &mean_sqr, NULL),
                          0);
    else
        assert_int_equal (pollux_agent_gradients_single (agent, &dot, &diff_sqr, NULL), 0);
    struct pollux_advice advice = advise (job);
    pollux_agent_step_end (agent);
    return advice;
}

static void steps (struct job *job, int count)
{
    for (int i = 0; i < count; i++)
        step (job);
}

/* The first step of a pass is not measured. */
static void test_first_step_is_dropped (void **unused)
{
    (void)unused;
    struct job job;
    job_open (&job, 1, 2);
    job_start (&job);
    pollux_agent_pass_begin (job.agent);
    advise (&job);
    job.truth.alpha_grad = 5; /* warming up */
    step (&job);
    assert_int_equal (agent_profile (job.agent)->steps, 0);
    job.truth.alpha_grad = 0.02;
    steps (&job, 5);
    assert_int_equal (agent_profile (job.agent)->steps, 5);
    pollux_agent_pass_begin (job.agent);
    job.truth.alpha_grad = 5;
    step (&job);
    assert_int_equal (agent_profile (job.agent)->steps, 5);
    double grad_s = agent_profile (job.agent)->entries[0].grad_s;
    assert_true (relative (grad_s, 0.02 + 0.0005 * 32) < 1e-9);
    pollux_agent_close (job.agent);
}

/* Programs that are compiled for every size get micro-batches of 8 x 2^k samples. */
static void test_few_sizes (void **unused)
{
    (void)unused;
    struct pollux_limits limits = {.init_batch = 50, .max_batch = 4000, .min_local = 1};
    struct pollux_grad grad = {.sqr = 1, .var = 50, .gain_max = 30};
    struct tuner tuner;
    limits.max_local = 4000;
    tuner_start (&tuner, &limits, (struct pollux_shape){1, 1}, 30);
    tuner.fitted = true;
    tuner.fit.model = (struct pollux_model){.alpha_grad = 0.01, .beta_grad = 5e-5, .gamma = 1};
    struct tuner any = tuner;
    assert_true (tuner_choose (&any, grad));
    assert_int_equal (any.batch.m, 100);
    tuner.few_sizes = true;
    for (int64_t m = 64; m <= 512; m *= 2) {
        assert_true (tuner_choose (&tuner, grad));
        assert_int_equal (tuner.batch.m, m);
    }
    /* From 64 to 100 only the size 64 is allowed. */
    tuner.batch.m = 64;
    tuner.limits.max_batch = 100;
    assert_false (tuner_choose (&tuner, grad));
    assert_int_equal (tuner.batch.m, 64);
    /* 120 has 55 % more goodput than 62, but 64 has only 2 % more. */
    tuner.batch.m = any.batch.m = 62;
    tuner.limits.max_batch = any.limits.max_batch = 120;
    assert_true (tuner_choose (&any, grad));
    assert_int_equal (any.batch.m, 120);
    assert_false (tuner_choose (&tuner, grad));
    assert_int_equal (tuner.batch.m, 62);
}

/* The first batch of a generation has few sizes, too, but not at the price of less than M0. */
static void test_few_first_sizes (void **unused)
{
    (void)unused;
    static const struct {
        int64_t min_local, total;
        int replicas;
        struct pollux_batch any, few;
    } cases[] = {
        {1, 50, 1, {50, 0}, {50, 0}},    {1, 60, 1, {60, 0}, {60, 0}},
        {1, 100, 1, {100, 0}, {64, 0}},  {1, 100, 3, {34, 0}, {32, 0}},
        {1, 50, 3, {17, 0}, {17, 0}},    {34, 100, 3, {34, 0}, {34, 0}},
        {1, 600, 1, {150, 3}, {128, 3}}, {1, 64, 16, {4, 0}, {4, 0}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_limits limits = {.init_batch = 50,
                                       .max_batch = 4000,
                                       .min_local = cases[i].min_local,
                                       .max_local = 180,
                                       .accumulation = true};
        for (int few = 0; few <= 1; few++) {
            struct pollux_batch expected = few ? cases[i].few : cases[i].any;
            struct tuner tuner;
            tuner_start (&tuner, &limits, (struct pollux_shape){1, cases[i].replicas}, 30);
            tuner.few_sizes = few;
            tuner_resume (&tuner, cases[i].total);
            if (tuner.batch.m != expected.m || tuner.batch.s != expected.s)
                fail_msg ("case %zu: m %d, s %d", i, (int)tuner.batch.m, (int)tuner.batch.s);
        }
    }
}

/* Marked ends of micro-steps separate computation from an overlapped synchronisation. */
static void test_stopwatch (void **unused)
{
    (void)unused;
    struct stopwatch watch = {.open = false};
    struct stopwatch_step times;
    assert_false (stopwatch_end (&watch, 1, &times));
    stopwatch_sync_begin (&watch, 1);
    stopwatch_micro_end (&watch, 1);
    stopwatch_begin (&watch, (struct pollux_batch){8, 2}, 10);
    stopwatch_micro_end (&watch, 11);
    stopwatch_micro_end (&watch, 12);
    assert_true (stopwatch_end (&watch, 13.5, &times));
    assert_true (times.grad_s == 1 && times.step_s == 1.5);
    /* Times by another clock replace those by this one, in this step only. */
    stopwatch_times (&watch, 5, 6);
    stopwatch_begin (&watch, (struct pollux_batch){8, 2}, 10);
    stopwatch_micro_end (&watch, 11);
    stopwatch_micro_end (&watch, 12);
    stopwatch_times (&watch, 0.25, 0.5);
    stopwatch_times (&watch, NAN, 1);
    stopwatch_times (&watch, 1, 0);
    assert_true (stopwatch_end (&watch, 13.5, &times));
    assert_true (times.grad_s == 0.25 && times.step_s == 0.5);
    /* Without marks: waiting is measured. */
    stopwatch_begin (&watch, (struct pollux_batch){8, 1}, 10);
    stopwatch_sync_begin (&watch, 12);
    stopwatch_sync_begin (&watch, 12.5); /* a second begin has no effect */
    stopwatch_sync_end (&watch, 13);
    stopwatch_sync_end (&watch, 14);
    stopwatch_sync (&watch, 1);
    stopwatch_sync (&watch, -1);
    assert_true (stopwatch_end (&watch, 14, &times));
    assert_true (times.grad_s == 1 && times.step_s == 3);
    /* More waiting than the step takes; a wait without an end. */
    stopwatch_begin (&watch, (struct pollux_batch){8, 0}, 10);
    stopwatch_sync (&watch, 100);
    assert_true (stopwatch_end (&watch, 12, &times) && times.grad_s == 0 && times.step_s == 2);
    stopwatch_begin (&watch, (struct pollux_batch){8, 0}, 10);
    stopwatch_sync_begin (&watch, 11);
    assert_true (stopwatch_end (&watch, 12, &times) && times.grad_s == 1 && times.step_s == 2);
}

/* A fit after ten steps, then one every 30 s. */
static void test_fits_on_its_schedule (void **unused)
{
    (void)unused;
    struct job job;
    job_open (&job, 1, 2);
    job_start (&job);
    advise (&job);
    steps (&job, 11); /* the first is not measured; the fit uses the steps before it */
    assert_int_equal (job.fits, 0);
    step (&job);
    assert_int_equal (job.fits, 1);
    double start_s = job.clock_s;
    while (job.clock_s < start_s + 300)
        step (&job);
    assert_in_range (job.fits, 10, 20); /* and one after each change of the batch */
    /* Without new steps there is no fit. */
    int fits = job.fits;
    for (int i = 0; i < 5; i++) {
        job.clock_s += 100;
        advise (&job);
    }
    assert_in_range (job.fits, fits, fits + 1);
    pollux_agent_close (job.agent);
}

static double total_of (const struct job *job)
{
    return pollux_total_batch (job->setup.world.shape, job->agent->tuner.batch);
}

/* The batch is chosen every 50 updates, for 5 % more goodput, and at most doubles. */
static void test_batch_changes_step_by_step (void **unused)
{
    (void)unused;
    for (int replicas = 1; replicas <= 2; replicas++) {
        struct job job;
        struct pollux_status status;
        job_open (&job, 1, replicas);
        job_start (&job);
        struct pollux_advice advice = advise (&job);
        double before = total_of (&job);
        assert_true (before == 64); /* M0 over the replicas */
        int changed_at = -1;
        for (int i = 0; i < 3000; i++) {
            advice = step (&job);
            double now = total_of (&job);
            if (now == before)
                continue;
            assert_true (now <= 2 * before);
            assert_true (i + 1 >= 16); /* updates with evidence */
            assert_true (changed_at < 0 || i - changed_at >= ADAPTATION_UPDATES);
            changed_at = i;
            before = now;
        }
        assert_true (before >= 120);
        pollux_agent_status (job.agent, &status);
        assert_true (status.fitted && advice.gain > 1);
        /* The status has the estimate that decides. */
        struct pollux_grad grad = agent_grad (job.agent);
        assert_true (status.decision_grad.sqr == grad.sqr && status.decision_grad.var == grad.var);
        double gain = pollux_gain (status.decision_grad, total_of (&job) / 64);
        assert_true (relative (gain, step (&job).gain) < 1e-3);
        /* Nothing new is measured: no change. */
        steps (&job, 500);
        assert_true (total_of (&job) == before);
        /* More noise: a larger batch. */
        job.phi = 20000;
        steps (&job, 4000);
        assert_true (total_of (&job) > 1.5 * before);
        pollux_agent_close (job.agent);
    }
}

/* Without evidence nothing changes, however noisy the first updates look, and reports say so. */
static void test_no_change_without_evidence (void **unused)
{
    (void)unused;
    struct job job;
    job_open (&job, 1, 1);
    job.phi = 1e9;
    job.setup.limits.accumulation = false; /* one gradient per update: it does not show its noise */
    job_start (&job);
    advise (&job);
    steps (&job, 1000);
    assert_int_equal (job.changes, 0);
    assert_true (agent_grad (job.agent).gain_max == 1);
    assert_true (job.agent->progress == 1000);
    pollux_agent_close (job.agent);
}

/* One replica probes: two halves instead of one micro-step, in the first updates, then now and then. */
static void test_one_replica_probes (void **unused)
{
    (void)unused;
    struct job job;
    job_open (&job, 1, 1);
    job.phi = 1; /* the batch stays M0 */
    job_start (&job);
    struct pollux_advice advice = advise (&job);
    for (uint64_t i = 0; i < 200; i++) {
        bool probe = probe_is_due (i, false);
        assert_int_equal (advice.batch.m, probe ? 32 : 64);
        assert_int_equal (advice.batch.s, probe);
        for (uint64_t k = 0; k < 20; k++)
            assert_int_equal (pollux_agent_batch_at (job.agent, (int64_t)k).s,
                              probe_is_due (k, false));
        advice = step (&job);
        assert_true (advice.gain == 1);
    }
    assert_true (adaptation_has_evidence (&job.agent->adaptation));
    /* Steps of probes are measured, too: two micro-batches determine the model. */
    assert_int_equal (agent_profile (job.agent)->count, 2);
    pollux_agent_close (job.agent);
    /* A fixed batch, or one that may not grow, is not probed. */
    job_open (&job, 1, 1);
    job.setup.limits.max_batch = 64;
    job_start (&job);
    advise (&job);
    for (int i = 0; i < 20; i++)
        assert_true (step (&job).batch.s == 0);
    pollux_agent_close (job.agent);
}

/* The limit of the gain is in the report, and rises while the training uses it. */
static void test_gain_limit_rises (void **unused)
{
    (void)unused;
    struct job job;
    job_open (&job, 1, 2);
    job.phi = 1e6;
    job_start (&job);
    advise (&job);
    double most = 0;
    for (int i = 0; i < 3000; i++) {
        struct pollux_advice advice = step (&job);
        struct pollux_grad grad = agent_grad (job.agent);
        assert_true (advice.gain <= fmax (grad.gain_max, 1));
        assert_true (grad.gain_max == 1 || grad.gain_max >= fmax (most, 4));
        most = fmax (most, grad.gain_max);
    }
    assert_true (most >= 32);
    pollux_agent_close (job.agent);
}

/* A new generation continues with the total batch of the last one, and needs no new evidence. */
static void test_batch_survives_a_restart (void **unused)
{
    (void)unused;
    struct job job;
    uint8_t state[20000];
    job_open (&job, 1, 2);
    job_start (&job);
    advise (&job);
    steps (&job, 1000);
    double total = total_of (&job);
    assert_true (total > 128);
    size_t size = pollux_agent_state_size (job.agent);
    assert_int_equal (pollux_agent_state_save (job.agent, state, size, NULL), 0);
    pollux_agent_close (job.agent);
    job_open (&job, 1, 4);
    job_start (&job);
    assert_int_equal (pollux_agent_state_restore (job.agent, state, size, NULL), 0);
    assert_true (total_of (&job) >= total && total_of (&job) < total + 4);
    assert_true (adaptation_has_evidence (&job.agent->adaptation));
    pollux_agent_close (job.agent);
}

/* A state says whether there was evidence when it was saved: fewer values are enough then. */
static void test_evidence_survives_a_restart (void **unused)
{
    (void)unused;
    static const struct {
        int values;
        double last; /* the scale of one more */
        bool enough;
    } cases[] = {{10, 1, false}, {16, 4, true}, {16, 100, false}};
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct job job;
        uint8_t state[20000];
        job_open (&job, 1, 1);
        job_start (&job);
        struct adaptation *adaptation = &job.agent->adaptation;
        for (int k = 0; k < cases[i].values; k++)
            adaptation_measure (adaptation, (struct pollux_grad){.sqr = 1, .var = 2}, 1);
        adaptation_measure (adaptation, (struct pollux_grad){.sqr = 1, .var = 2}, cases[i].last);
        job.agent->tuner.batch = (struct pollux_batch){128, 0};
        size_t size = pollux_agent_state_size (job.agent);
        assert_int_equal (pollux_agent_state_save (job.agent, state, size, NULL), 0);
        pollux_agent_close (job.agent);
        job_start (&job);
        assert_int_equal (pollux_agent_state_restore (job.agent, state, size, NULL), 0);
        assert_int_equal (adaptation_has_evidence (&job.agent->adaptation), cases[i].enough);
        assert_true (total_of (&job) == (cases[i].enough ? 128 : 64));
        pollux_agent_close (job.agent);
    }
}

/* The rule itself, from every batch: changed for more than 5 %. */
static void test_five_per_cent (void **unused)
{
    (void)unused;
    const struct pollux_limits limits = {64, 8192, 1, 512, true};
    const struct pollux_shape shape = {1, 2};
    const struct pollux_grad grad = {.sqr = 1, .var = 10};
    int kept = 0, changed = 0;
    for (int64_t m = 32; m <= 512; m++) {
        struct tuner tuner;
        tuner_start (&tuner, &limits, shape, 30);
        tuner.fit.model = (struct pollux_model){0.02, 0.0005, 0.05, 0.004, 0.01, 0.001, 1.6};
        tuner.fitted = true;
        tuner.batch = (struct pollux_batch){m, 0};
        double now = pollux_goodput (&tuner.fit.model, grad, 64, shape, tuner.batch);
        bool has_changed = tuner_choose (&tuner, grad);
        double then = pollux_goodput (&tuner.fit.model, grad, 64, shape, tuner.batch);
        assert_int_equal (has_changed, then > 1.05 * now);
        assert_true (tuner.batch.m * (tuner.batch.s + 1) <= 2 * m);
        kept += !has_changed && tuner.best.goodput > now;
        changed += has_changed;
    }
    assert_true (kept > 20 && changed > 20);
}

/* After three configurations, step times of a fourth are predicted within 15 %. */
static void test_predicts_step_times (void **unused)
{
    (void)unused;
    static const struct pollux_shape shapes[] = {{1, 1}, {1, 2}, {1, 4}};
    struct job job;
    uint8_t state[20000];
    size_t size = 0;
    for (size_t i = 0; i < COUNT (shapes); i++) {
        job_open (&job, shapes[i].nodes, shapes[i].replicas);
        job_start (&job);
        if (size > 0)
            assert_int_equal (pollux_agent_state_restore (job.agent, state, size, NULL), 0);
        for (int pass = 0; pass < 3; pass++) {
            pollux_agent_pass_begin (job.agent);
            advise (&job);
            steps (&job, 800);
        }
        size = pollux_agent_state_size (job.agent);
        assert_true (size <= sizeof (state));
        assert_int_equal (pollux_agent_state_save (job.agent, state, size, NULL), 0);
        if (i + 1 < COUNT (shapes))
            pollux_agent_close (job.agent);
    }
    job.clock_s += 100;
    step (&job);
    struct pollux_status status;
    pollux_agent_status (job.agent, &status);
    assert_int_equal (status.max_profiled_replicas, 4);
    for (int replicas = 1; replicas <= 4; replicas++)
        for (int64_t m = 16; m <= 256; m *= 2) {
            struct pollux_shape shape = {1, replicas};
            struct pollux_batch batch = {m, 1};
            double predicted = pollux_iter_time (&status.fit.model, shape, batch);
            double measured = pollux_iter_time (&job.truth, shape, batch);
            if (relative (predicted, measured) > 0.15)
                fail_msg ("K = %d, m = %d: %g s predicted, %g s measured", replicas, (int)m,
                          predicted, measured);
        }
    pollux_agent_close (job.agent);
}

/* Observing changes nothing, but measures as much. */
static void test_observe (void **unused)
{
    (void)unused;
    struct job job;
    struct pollux_status status;
    job_open (&job, 1, 2);
    job.setup.observe = true;
    job.setup.fixed = (struct pollux_batch){100, 0};
    job_start (&job);
    for (int pass = 0; pass < 5; pass++) {
        pollux_agent_pass_begin (job.agent);
        struct pollux_advice advice = advise (&job);
        for (int i = 0; i < 400; i++) {
            advice = step (&job);
            assert_true (advice.batch.m == 100 && advice.batch.s == 0);
            assert_true (pollux_agent_factor (job.agent, 0) == 1);
        }
        assert_true (advice.progress > 400 * (pass + 1)); /* the batch is above M0 */
    }
    pollux_agent_status (job.agent, &status);
    assert_true (status.fitted && status.best.goodput > 0);
    assert_true (status.best.batch.m * (status.best.batch.s + 1) != 100);
    assert_true (relative (status.noise_scale, 500) < 0.01);
    /* The program may report another batch. */
    assert_int_equal (pollux_agent_set_fixed (job.agent, (struct pollux_batch){50, 1}, NULL), 0);
    assert_int_equal (step (&job).batch.m, 50);
    pollux_agent_close (job.agent);
}

/* The first batch, if M0 does not fit the limits and replicas. */
static void test_first_batch (void **unused)
{
    (void)unused;
    static const struct {
        struct pollux_limits limits;
        int replicas;
        struct pollux_batch batch;
    } cases[] = {
        {{64, 64, 1, 64, false}, 1, {64, 0}},   {{64, 64, 1, 64, false}, 3, {22, 0}},
        {{64, 256, 32, 64, false}, 4, {32, 0}}, {{64, 256, 1, 16, true}, 1, {16, 3}},
        {{65, 256, 1, 16, true}, 1, {13, 4}},   {{64, 256, 1, 16, false}, 2, {16, 0}},
        {{1, 256, 1, 16, true}, 8, {1, 0}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct tuner tuner;
        tuner_start (&tuner, &cases[i].limits, (struct pollux_shape){1, cases[i].replicas}, 30);
        if (tuner.batch.m != cases[i].batch.m || tuner.batch.s != cases[i].batch.s)
            fail_msg ("case %zu: m = %d, s = %d", i, (int)tuner.batch.m, (int)tuner.batch.s);
    }
}

/* The table is bounded; the least recently measured entry is replaced. */
static void test_profile_is_bounded (void **unused)
{
    (void)unused;
    static struct profile profile;
    struct pollux_sample samples[PROFILE_LIMIT];
    const struct pollux_shape shape = {1, 1};
    for (int64_t m = 1; m <= 3 * PROFILE_LIMIT; m++) {
        assert_true (profile_add (&profile, shape, m, 1e-3 * (double)m, 2e-3 * (double)m));
        assert_true (profile_add (&profile, shape, 1, 1e-3, 2e-3));
    }
    assert_true (profile_step_s (&profile, shape, 1) == 2e-3);
    assert_true (isnan (profile_step_s (&profile, shape, 1 << 20)));
    assert_false (profile_add (&profile, shape, 1, 0, 1));
    assert_false (profile_add (&profile, shape, 1, 1, NAN));
    assert_false (profile_add (&profile, shape, 1, 1, 1e10));
    assert_int_equal (profile_samples (&profile, samples), PROFILE_LIMIT);
    bool first = false, last = false;
    for (int i = 0; i < PROFILE_LIMIT; i++) {
        first |= samples[i].m == 1;
        last |= samples[i].m == 3 * PROFILE_LIMIT;
        assert_true (samples[i].m == 1 || samples[i].m > 2 * PROFILE_LIMIT);
        assert_true (relative (samples[i].grad_s, 1e-3 * (double)samples[i].m) < 1e-9);
    }
    assert_true (first && last);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_first_step_is_dropped),
        cmocka_unit_test (test_few_sizes),
        cmocka_unit_test (test_few_first_sizes),
        cmocka_unit_test (test_stopwatch),
        cmocka_unit_test (test_fits_on_its_schedule),
        cmocka_unit_test (test_batch_changes_step_by_step),
        cmocka_unit_test (test_no_change_without_evidence),
        cmocka_unit_test (test_one_replica_probes),
        cmocka_unit_test (test_gain_limit_rises),
        cmocka_unit_test (test_batch_survives_a_restart),
        cmocka_unit_test (test_evidence_survives_a_restart),
        cmocka_unit_test (test_five_per_cent),
        cmocka_unit_test (test_predicts_step_times),
        cmocka_unit_test (test_observe),
        cmocka_unit_test (test_first_batch),
        cmocka_unit_test (test_profile_is_bounded),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
