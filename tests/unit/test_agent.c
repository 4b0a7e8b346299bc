/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's public interface: environment, advice, stopping.  With a simulated clock and
 * random gradients of known noise.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_fixture.h"
#include "agent/environment.h"

/* ---- Where it is -------------------------------------------------------------------------- */

/* "NAME=value NAME=value ..." as an environment. */
static const char *look (const void *context, const char *name)
{
    static char value[64];
    size_t length = strlen (name);
    for (const char *at = context; at; at = strchr (at, ' ')) {
        at += *at == ' ';
        if (strncmp (at, name, length) == 0 && at[length] == '=') {
            snprintf (value, sizeof (value), "%.*s", (int)strcspn (at + length + 1, " "),
                      at + length + 1);
            return value;
        }
    }
    return NULL;
}

static void test_environment (void **unused)
{
    (void)unused;
    static const struct {
        const char *variables;
        struct pollux_world world;
    } cases[] = {
        {"", {0, 0, {1, 1}, 0}},
        {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 POLLUX_NODES=4 POLLUX_GENERATION=5",
         {3, 1, {4, 8}, 5}},
        {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=3 LOCAL_WORLD_SIZE=4 GROUP_WORLD_SIZE=2",
         {3, 3, {2, 8}, 0}},
        {"RANK=0 WORLD_SIZE=5 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2", {0, 0, {3, 5}, 0}},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=2",
         {2, 0, {2, 4}, 0}},
        {"SLURM_PROCID=1 SLURM_NTASKS=6 SLURM_LOCALID=1 SLURM_NNODES=2", {1, 1, {2, 6}, 0}},
        {"SLURM_PROCID=1 SLURM_NTASKS=6 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 "
         "SLURM_NNODES=3",
         {1, 0, {1, 2}, 0}},
        {"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_NNODES=4", {0, 0, {1, 1}, 0}},
        /* torchrun within Slurm; a rank without a number of replicas is ignored. */
        {"SLURM_PROCID=1 SLURM_NTASKS=2 RANK=7 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8",
         {7, 0, {2, 16}, 0}},
        {"RANK=7 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2",
         {1, 0, {1, 2}, 0}},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_world world;
        struct pollux_error err = {.text = ""};
        if (environment_world (look, cases[i].variables, &world, &err) < 0)
            fail_msg ("%s: %s", cases[i].variables, err.text);
        const struct pollux_world *want = &cases[i].world;
        if (world.rank != want->rank || world.local_rank != want->local_rank ||
            world.shape.nodes != want->shape.nodes ||
            world.shape.replicas != want->shape.replicas || world.generation != want->generation)
            fail_msg ("%s: got rank %d (%d), %d nodes, %d replicas, generation %d",
                      cases[i].variables, world.rank, world.local_rank, world.shape.nodes,
                      world.shape.replicas, world.generation);
    }
    static const struct {
        const char *variables, *named;
    } wrong[] = {{"RANK=8 WORLD_SIZE=8", "RANK"},
                 {"RANK=x WORLD_SIZE=8", "RANK"},
                 {"RANK=0 WORLD_SIZE=0", "WORLD_SIZE"},
                 {"RANK=0 WORLD_SIZE=99999999999999999999", "WORLD_SIZE"},
                 {"RANK=0 WORLD_SIZE=2 POLLUX_NODES=-1", "POLLUX_NODES"},
                 {"POLLUX_GENERATION=none", "POLLUX_GENERATION"}};
    for (size_t i = 0; i < COUNT (wrong); i++) {
        struct pollux_world world;
        struct pollux_error err = {.text = ""};
        assert_int_equal (environment_world (look, wrong[i].variables, &world, &err), -EINVAL);
        assert_non_null (strstr (err.text, wrong[i].named));
    }
}

/* Within 20 % after 200 steps, the batch fixed to M0. */
static void test_noise_of_known_scale (void **unused)
{
    (void)unused;
    static const int counts[] = {1, 2, 4};
    for (size_t i = 0; i < COUNT (counts); i++)
        for (int with_accumulation = 0; with_accumulation < 2; with_accumulation++) {
            double clock_s = 0, kept[DIM] = {0}, noise = 640;
            struct pollux_setup setup = agent_setup (counts[i], 1);
            setup.fixed =
                (struct pollux_batch){64 / counts[i] / (1 + with_accumulation), with_accumulation};
            struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
            struct rng rng = rng_stream (8, i);
            pollux_agent_pass_begin (agent);
            agent_advise (agent);
            for (int step = 0; step < 200; step++)
                agent_train (agent, &rng, noise, &clock_s, kept);
            struct pollux_status status;
            pollux_agent_status (agent, &status);
            if (fabs (status.noise_scale - noise) > 0.2 * noise)
                fail_msg ("K = %d, s = %d: noise scale %g, expected %g", counts[i],
                          with_accumulation, status.noise_scale, noise);
            assert_int_equal (status.noise_biased, counts[i] == 1 && !with_accumulation);
            pollux_agent_close (agent);
        }
}

/* The factor is the rule's, progress the sum of gains, and the batch M0 gives 1 each. */
static void test_factor_and_progress (void **unused)
{
    (void)unused;
    static const char *const names[] = {"adascale", "adamscale", "linear", "sqrt"};
    for (size_t i = 0; i < COUNT (names); i++) {
        double clock_s = 0, kept[DIM] = {0}, progress = 0;
        struct pollux_setup setup = agent_setup (4, 2);
        struct pollux_error err;
        setup.rule = names[i];
        setup.fixed = (struct pollux_batch){64, 1}; /* 8 times M0 */
        setup.total = 700;
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
        struct rng rng = rng_seed (2);
        struct pollux_advice advice = agent_advise (agent);
        assert_int_equal (advice.batch.m, 64);
        assert_true (advice.gain == 0 && advice.progress == 0);
        while (advice.verdict == POLLUX_GO) {
            advice = agent_train (agent, &rng, 200, &clock_s, kept);
            progress += advice.gain;
            double gain = pollux_gain (agent_grad (agent), 8);
            const double want[] = {gain, sqrt (gain), 8, sqrt (8)};
            assert_true (relative (pollux_agent_factor (agent, 0), want[i]) < 1e-12);
            assert_true (relative (progress, advice.progress) < 1e-12);
            assert_true (advice.gain >= 1 && advice.gain <= 8.000001);
        }
        assert_int_equal (advice.verdict, POLLUX_DONE);
        assert_true (advice.progress >= 700 && advice.progress < 708.001);
        assert_true (pollux_agent_factor (agent, 1) == 1 && pollux_agent_factor (agent, -1) == 1);
        setup.rule = "none";
        struct pollux_agent *none;
        assert_int_equal (pollux_agent_open (&setup, &none, &err), -ENOENT);
        pollux_agent_close (agent);
    }
}

/* A second decision in a step counts no second update; a skipped update is not counted. */
static void test_skipped_and_asked_twice (void **unused)
{
    (void)unused;
    double clock_s = 0, bad = NAN, good = 1, micro = 2;
    struct pollux_setup setup = agent_setup (2, 1);
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    struct pollux_error err;
    assert_int_equal (pollux_agent_gradients (agent, 1, &micro, &good, &err), -EINVAL);
    agent_advise (agent);
    pollux_agent_step_begin (agent);
    assert_int_equal (pollux_agent_gradients (agent, 1, &bad, &good, &err), -EDOM);
    struct pollux_advice advice = agent_advise (agent);
    assert_true (advice.skip && advice.progress == 0 && advice.gain == 0);
    pollux_agent_step_end (agent);
    pollux_agent_step_begin (agent);
    assert_int_equal (pollux_agent_gradients (agent, 1, &micro, &good, &err), 0);
    assert_int_equal (pollux_agent_gradients (agent, 5, &micro, &good, &err), -EINVAL);
    advice = agent_advise (agent);
    assert_true (!advice.skip && advice.progress == 1);
    advice = agent_advise (agent);
    assert_true (advice.progress == 1);
    pollux_agent_step_end (agent);
    assert_false (pollux_agent_paired (agent));
    pollux_agent_skip (agent); /* outside of a step: no effect */
    pollux_agent_step_begin (agent);
    assert_int_equal (pollux_agent_gradients (agent, 1, &micro, &good, &err), 0);
    advice = agent_advise (agent);
    assert_true (!advice.skip && advice.progress == 2);
    pollux_agent_step_end (agent);
    pollux_agent_step_begin (agent);
    pollux_agent_skip (agent);
    advice = agent_advise (agent);
    assert_true (advice.skip && advice.progress == 2 && advice.gain == 0);
    pollux_agent_step_end (agent);
    pollux_agent_close (agent);
}

/* A step that is given up, before its decision or after it, is as if it had not begun. */
static void test_dropped_step (void **unused)
{
    (void)unused;
    double clock_s = 0, micro = 2, mean = 1;
    struct pollux_setup setup = agent_setup (2, 1);
    setup.beta2 = 0.99;
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    struct pollux_error err;
    agent_advise (agent);
    pollux_agent_step_drop (agent); /* outside of a step: no effect */
    for (int i = 1; i <= 6; i++) {
        struct adaptation adaptation = agent->adaptation;
        struct second_moment moment = agent->moment;
        uint64_t steps = agent_profile (agent)->steps;
        size_t count;
        pollux_agent_step_begin (agent);
        clock_s += 10;
        if (i % 2 == 0)
            pollux_agent_decide (agent, &count);
        pollux_agent_step_drop (agent);
        pollux_agent_step_end (agent);
        struct pollux_advice advice = agent_advise (agent);
        assert_true (!advice.skip && advice.gain == 0 && advice.progress == i - 1);
        assert_true (agent_profile (agent)->steps == steps);
        assert_memory_equal (&agent->moment, &moment, sizeof (moment));
        assert_int_equal (agent->adaptation.updates, adaptation.updates);
        pollux_agent_step_begin (agent);
        clock_s += 1;
        assert_int_equal (pollux_agent_gradients (agent, 1, &micro, &mean, &err), 0);
        assert_true (agent_advise (agent).progress == i);
        pollux_agent_step_end (agent);
        assert_true (agent_profile (agent)->steps == (uint64_t)(i - 1)); /* not the first step */
    }
    pollux_agent_close (agent);
}

/* The decision is made before the sums over the replicas, and sent together with them.  If the gradient is then not
 * finite, both replicas skip the update: as if it had never been counted. */
static void test_early_decision (void **unused)
{
    (void)unused;
    double clock_s = 0, micro = 2, mean = 1;
    struct pollux_setup setup = agent_setup (2, 1);
    setup.total = 3;
    setup.beta2 = 0.99;
    struct pollux_agent *first = agent_with_clock (&setup, &clock_s);
    setup.world.rank = 1;
    struct pollux_agent *second = agent_with_clock (&setup, &clock_s);
    struct pollux_error err;
    const bool bad[] = {false, true, false, true, true, false};
    double progress = 0;
    for (size_t i = 0; i < COUNT (bad); i++) {
        struct pollux_advice a, b;
        size_t count;
        struct adaptation adaptation = first->adaptation;
        struct second_moment moment = first->moment;
        pollux_agent_step_begin (first);
        pollux_agent_step_begin (second);
        const double *from = pollux_agent_decide (first, &count);
        memcpy (pollux_agent_decide (second, &count), from, count * sizeof (from[0]));
        if (bad[i]) {
            pollux_agent_skip (first);
            pollux_agent_skip (second);
        } else {
            assert_int_equal (pollux_agent_gradients (first, 1, &micro, &mean, &err), 0);
        }
        progress += bad[i] ? 0 : 1;
        assert_int_equal (pollux_agent_follow (first, &a, &err), 0);
        assert_int_equal (pollux_agent_follow (second, &b, &err), 0);
        assert_true (a.skip == bad[i] && a.gain == (bad[i] ? 0 : 1) && a.progress == progress);
        assert_true (b.skip == a.skip && b.gain == a.gain && b.progress == a.progress);
        assert_true (a.verdict == b.verdict &&
                     a.verdict == (progress < 3 ? POLLUX_GO : POLLUX_DONE));
        assert_int_equal (first->adaptation.updates, (uint64_t)progress);
        if (bad[i]) {
            assert_memory_equal (&first->adaptation, &adaptation, sizeof (adaptation));
            assert_memory_equal (&first->moment, &moment, sizeof (moment));
        }
        clock_s += 10;
        pollux_agent_step_end (first);
        pollux_agent_step_end (second);
    }
    pollux_agent_close (first);
    pollux_agent_close (second);
}

/* One update in 10 s, of `samples` samples if not 0; micro_sqr 2, mean_sqr 1. */
static struct pollux_advice train_samples (struct pollux_agent *agent, int64_t samples,
                                           int64_t parts, double *clock_s)
{
    double micro = 2, mean = 1;
    struct pollux_error err = {.text = ""};
    pollux_agent_step_begin (agent);
    if (samples && pollux_agent_samples (agent, samples, &err) < 0)
        fail_msg ("%s", err.text);
    *clock_s += 10;
    if (pollux_agent_gradients (agent, parts, &micro, &mean, &err) < 0)
        fail_msg ("%s", err.text);
    struct pollux_advice advice = agent_advise (agent);
    pollux_agent_step_end (agent);
    return advice;
}

/* An update of another size: its gain, factor and statistics; it is not measured unless the size is
 * due to rounding; the next update is a normal one. */
static void test_samples_of_one_update (void **unused)
{
    (void)unused;
    static const struct {
        int64_t samples, parts;
        bool measured;
    } cases[] = {
        {0, 2, true},   {64, 2, true},   {61, 2, true},   {61, 1, true},
        {60, 2, false}, {30, 1, false},  {4, 2, false},   {1, 1, false},
        {65, 2, false}, {128, 2, false}, {120, 1, false},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        double clock_s = 0;
        struct pollux_setup setup = agent_setup (2, 1);
        setup.fixed = (struct pollux_batch){16, 1}; /* M0 = 64 in all */
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
        agent_advise (agent);
        train_samples (agent, 0, 2, &clock_s); /* the first is not measured */
        uint64_t steps = agent_profile (agent)->steps;
        struct pollux_noise *noise;
        double micro = 2, mean = 1, total = cases[i].samples ? (double)cases[i].samples : 64;
        struct pollux_advice advice =
            train_samples (agent, cases[i].samples, cases[i].parts, &clock_s);
        assert_int_equal (agent_profile (agent)->steps - steps, cases[i].measured);
        /* The estimate of two such updates, by hand. */
        assert_int_equal (pollux_noise_new (1, 64, &noise, NULL), 0);
        pollux_noise_update (noise, 2, (struct pollux_batch){16, 1}, &micro, &mean, NULL);
        int64_t m = (int64_t)fmax (round (total / (2. * (double)cases[i].parts)), 1);
        pollux_noise_update (noise, 2, (struct pollux_batch){m, cases[i].parts - 1}, &micro, &mean,
                             NULL);
        struct pollux_grad grad = pollux_noise_grad (noise), got = pollux_noise_grad (agent->noise);
        assert_true (grad.sqr == got.sqr && grad.var == got.var);
        pollux_noise_free (noise);
        /* A short update is a whole one, and a large one is no more before there is evidence. */
        assert_true (advice.gain == 1 && pollux_agent_factor (agent, 0) == 1);
        assert_true (advice.progress == 2);
        advice = train_samples (agent, 0, 2, &clock_s);
        assert_true (advice.gain == 1 && pollux_agent_factor (agent, 0) == 1);
        pollux_agent_close (agent);
    }
}

static void test_samples_out_of_place (void **unused)
{
    (void)unused;
    double clock_s = 0, micro = 2, mean = 1;
    struct pollux_setup setup = agent_setup (2, 1);
    setup.fixed = (struct pollux_batch){8, 3};
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    struct pollux_error err;
    assert_int_equal (pollux_agent_samples (agent, 10, &err), -EINVAL);
    agent_advise (agent);
    pollux_agent_step_begin (agent);
    assert_int_equal (pollux_agent_samples (agent, 0, &err), -EINVAL);
    assert_int_equal (pollux_agent_samples (agent, POLLUX_BATCH_LIMIT + 1, &err), -EINVAL);
    /* Fewer parts only with fewer samples. */
    assert_int_equal (pollux_agent_gradients (agent, 3, &micro, &mean, &err), -EINVAL);
    assert_int_equal (pollux_agent_samples (agent, 40, &err), 0);
    assert_int_equal (pollux_agent_gradients (agent, 5, &micro, &mean, &err), -EINVAL);
    assert_int_equal (pollux_agent_gradients (agent, 0, &micro, &mean, &err), -EINVAL);
    assert_int_equal (pollux_agent_gradients (agent, 3, &micro, &mean, &err), 0);
    agent_advise (agent);
    assert_int_equal (pollux_agent_samples (agent, 40, &err), -EINVAL);
    assert_non_null (strstr (err.text, "decision"));
    pollux_agent_step_end (agent);
    pollux_agent_close (agent);
    /* Other replicas may call it; it is not required. */
    setup.world.rank = 1;
    agent = agent_with_clock (&setup, &clock_s);
    pollux_agent_step_begin (agent);
    assert_int_equal (pollux_agent_samples (agent, 40, &err), 0);
    pollux_agent_step_end (agent);
    pollux_agent_close (agent);
    /* n = 1: compared only with a gradient of the same number of samples. */
    setup = agent_setup (1, 1);
    setup.fixed = (struct pollux_batch){64, 0};
    agent = agent_with_clock (&setup, &clock_s);
    static const int64_t samples[] = {0, 40, 40, 0}, paired[] = {false, false, true, false};
    agent_advise (agent);
    for (size_t i = 0; i < COUNT (samples); i++) {
        pollux_agent_step_begin (agent);
        if (samples[i])
            assert_int_equal (pollux_agent_samples (agent, samples[i], &err), 0);
        assert_int_equal (pollux_agent_paired (agent), paired[i]);
        assert_int_equal (pollux_agent_gradients_single (agent, paired[i] ? &mean : NULL,
                                                         paired[i] ? &micro : NULL, &err),
                          0);
        agent_advise (agent);
        pollux_agent_step_end (agent);
    }
    pollux_agent_close (agent);
}

/* ---- Following ------------------------------------------------------------------------------ */

static void test_all_follow_replica_0 (void **unused)
{
    (void)unused;
    double clock_s = 0, kept[DIM];
    struct pollux_setup setup = agent_setup (2, 1);
    struct pollux_agent *first = agent_with_clock (&setup, &clock_s);
    setup.world.rank = 1;
    struct pollux_agent *second = agent_with_clock (&setup, &clock_s);
    struct pollux_advice a, b;
    struct pollux_error err;
    struct rng rng = rng_seed (4);
    setup.period_s = 1;
    size_t count, other;
    /* Not broadcast: refused, with no change. */
    pollux_agent_decide (second, &count);
    assert_int_equal (pollux_agent_follow (second, &b, &err), -EINVAL);
    assert_non_null (strstr (err.text, "broadcast"));
    pollux_agent_pass_begin (first);
    a = agent_advise (first);
    for (int step = 0; step < 50; step++) {
        if (step % 20 == 0)
            pollux_agent_pass_begin (first);
        if (step == 40)
            pollux_agent_stop (first);
        pollux_agent_step_begin (second);
        a = agent_train (first, &rng, 2000, &clock_s, kept);
        double *to = pollux_agent_decide (second, &other);
        pollux_agent_decide (first, &count);
        assert_int_equal (count, other);
        memcpy (to, first->numbers, count * sizeof (to[0]));
        to[NUMBER_GAIN] = a.gain;
        assert_int_equal (pollux_agent_follow (second, &b, &err), 0);
        pollux_agent_follow (first, &a, &err);
        pollux_agent_step_end (second);
        assert_true (a.batch.m == b.batch.m && a.batch.s == b.batch.s && a.verdict == b.verdict &&
                     a.progress == b.progress && a.skip == b.skip);
        assert_true (pollux_agent_factor (first, 0) == pollux_agent_factor (second, 0));
        assert_int_equal (b.verdict, step < 40 ? POLLUX_GO : POLLUX_STOP);
    }
    /* Numbers that no agent has written. */
    for (int i = 0; i <= NUMBER_FACTORS; i++) {
        static const double strange[] = {NAN, INFINITY, -1, 1e300};
        for (size_t k = 0; k < COUNT (strange); k++) {
            pollux_agent_decide (first, &count);
            memcpy (second->numbers, first->numbers, count * sizeof (second->numbers[0]));
            second->numbers[i] = strange[k];
            int code = pollux_agent_follow (second, &b, &err);
            bool may = isfinite (strange[k]) &&
                       (i == NUMBER_GAIN || (strange[k] > 0 && i >= NUMBER_PROGRESS));
            assert_int_equal (code, may ? 0 : -EINVAL);
        }
    }
    pollux_agent_close (first);
    pollux_agent_close (second);
}

/* ---- Stopping ------------------------------------------------------------------------------- */

static volatile sig_atomic_t before_called;

static void handler_before (int signal)
{
    before_called = signal;
}

static void test_signal (void **unused)
{
    (void)unused;
    double clock_s = 0;
    struct pollux_setup setup = agent_setup (1, 1);
    struct pollux_error err;
    struct sigaction action = {.sa_handler = handler_before}, now, old;
    assert_int_equal (sigaction (SIGTERM, &action, &old), 0);
    for (int round = 0; round < 3; round++) {
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s),
                            *other = agent_with_clock (&setup, &clock_s);
        assert_int_equal (pollux_agent_catch (agent, SIGKILL, &err), -EINVAL);
        assert_int_equal (pollux_agent_catch (agent, 1000, &err), -EINVAL);
        assert_int_equal (pollux_agent_catch (agent, SIGTERM, &err), 0);
        assert_int_equal (pollux_agent_catch (agent, SIGTERM, &err), -EBUSY);
        assert_int_equal (pollux_agent_catch (other, SIGTERM, &err), 0);
        assert_int_equal (agent_advise (agent).verdict, POLLUX_GO);
        before_called = 0;
        raise (SIGTERM);
        assert_int_equal (before_called, SIGTERM);
        assert_true (pollux_agent_stopping (agent) && pollux_agent_stopping (other));
        assert_int_equal (agent_advise (agent).verdict, POLLUX_STOP);
        pollux_agent_close (agent);
        sigaction (SIGTERM, NULL, &now);
        assert_true (now.sa_handler != handler_before);
        pollux_agent_close (other);
        sigaction (SIGTERM, NULL, &now);
        assert_true (now.sa_handler == handler_before);
    }
    /* Without a previous handler, the signal no longer kills the process. */
    signal (SIGTERM, SIG_DFL);
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    assert_int_equal (pollux_agent_catch (agent, SIGTERM, &err), 0);
    raise (SIGTERM);
    assert_true (pollux_agent_stopping (agent));
    pollux_agent_close (agent);
    sigaction (SIGTERM, &old, NULL);
}

/* A handler that was installed after the agent's, and calls it. */
static struct sigaction behind;

static void handler_in_front (int signal, siginfo_t *info, void *context)
{
    behind.sa_sigaction (signal, info, context);
}

/* The agent's handler stays when the agent is closed, and the next agent makes no cycle. */
static void test_signal_chain (void **unused)
{
    (void)unused;
    double clock_s = 0;
    struct pollux_setup setup = agent_setup (1, 1);
    struct sigaction front = {.sa_sigaction = handler_in_front, .sa_flags = SA_SIGINFO};
    for (int round = 0; round < 3; round++) {
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
        assert_int_equal (pollux_agent_catch (agent, SIGWINCH, NULL), 0);
        if (round == 0)
            assert_int_equal (sigaction (SIGWINCH, &front, &behind), 0);
        assert_false (pollux_agent_stopping (agent));
        raise (SIGWINCH);
        assert_true (pollux_agent_stopping (agent));
        pollux_agent_close (agent);
        raise (SIGWINCH);
    }
    signal (SIGWINCH, SIG_DFL);
}

/* The program sets the default action before the agent is closed: the next agent catches the signal
 * again. */
static void test_signal_dropped (void **unused)
{
    (void)unused;
    double clock_s = 0;
    struct pollux_setup setup = agent_setup (1, 1);
    for (int round = 0; round < 3; round++) {
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
        assert_int_equal (pollux_agent_catch (agent, SIGCONT, NULL), 0);
        raise (SIGCONT);
        assert_true (pollux_agent_stopping (agent));
        signal (SIGCONT, round == 0 ? SIG_DFL : SIG_IGN);
        pollux_agent_close (agent);
    }
    signal (SIGCONT, SIG_DFL);
}

/* Threads with an agent each, while signals arrive. */
static void *one_thread (void *arg)
{
    double clock_s = 0, kept[DIM] = {0};
    struct pollux_setup setup = agent_setup (1, 1);
    struct rng rng = rng_seed (9);
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    assert_int_equal (pollux_agent_catch (agent, SIGUSR1, NULL), 0);
    agent_advise (agent);
    for (int step = 0; step < 30; step++) {
        agent_train (agent, &rng, 100, &clock_s, kept);
        if (step % 10 == 0)
            raise (SIGUSR1);
    }
    bool stopping = pollux_agent_stopping (agent);
    pollux_agent_close (agent);
    return stopping ? arg : NULL;
}

static void test_threads (void **unused)
{
    (void)unused;
    signal (SIGUSR1, SIG_IGN);
    pthread_t threads[4];
    int names[4];
    for (size_t i = 0; i < COUNT (threads); i++)
        assert_int_equal (pthread_create (&threads[i], NULL, one_thread, &names[i]), 0);
    for (size_t i = 0; i < COUNT (threads); i++) {
        void *ret;
        pthread_join (threads[i], &ret);
        assert_ptr_equal (ret, &names[i]);
    }
}

/* In a child of fork, the agent changes nothing and sends nothing. */
static void test_inert_after_fork (void **unused)
{
    (void)unused;
    double clock_s = 0, kept[DIM] = {0};
    struct pollux_setup setup = agent_setup (1, 1);
    struct rng rng = rng_seed (1);
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    assert_int_equal (pollux_agent_catch (agent, SIGUSR2, NULL), 0);
    agent_advise (agent);
    agent_train (agent, &rng, 100, &clock_s, kept);
    pid_t child = fork ();
    if (child == 0) {
        struct pollux_advice advice;
        size_t count;
        pollux_agent_stop (agent);
        pollux_agent_pass_begin (agent);
        pollux_agent_step_begin (agent);
        pollux_agent_decide (agent, &count);
        bool calm = pollux_agent_follow (agent, &advice, NULL) == 0 &&
                    advice.verdict == POLLUX_GO && advice.progress == 1 && !agent->watch.open &&
                    !pollux_agent_stopping (agent);
        pollux_agent_step_end (agent);
        pollux_agent_close (agent);
        _exit (calm ? 0 : 1);
    }
    int status;
    waitpid (child, &status, 0);
    assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
    assert_int_equal (agent_train (agent, &rng, 100, &clock_s, kept).verdict, POLLUX_GO);
    pollux_agent_close (agent);
}

static void test_setups_that_cannot_be (void **unused)
{
    (void)unused;
    struct pollux_agent *agent;
    struct pollux_error err;
    struct pollux_setup good = agent_setup (1, 1), bad[12];
    for (size_t i = 0; i < COUNT (bad); i++)
        bad[i] = good;
    bad[0].limits.init_batch = 0;
    bad[1].limits.max_batch = 63;
    bad[2].limits.min_local = 0;
    bad[3].limits.max_local = POLLUX_BATCH_LIMIT + 1;
    bad[4].groups = 0;
    bad[5].total = NAN;
    bad[6].period_s = 0.5;
    bad[7].observe = true;
    bad[8].rule = "legw";
    bad[9].world.rank = 1;
    bad[10].world.shape.nodes = 2;
    bad[11].fixed = (struct pollux_batch){POLLUX_BATCH_LIMIT, 1};
    for (size_t i = 0; i < COUNT (bad); i++) {
        err.text[0] = '\0';
        if (pollux_agent_open (&bad[i], &agent, &err) != -EINVAL || !err.text[0])
            fail_msg ("setup %zu was taken", i);
    }
    pollux_agent_close (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_environment),
        cmocka_unit_test (test_noise_of_known_scale),
        cmocka_unit_test (test_factor_and_progress),
        cmocka_unit_test (test_skipped_and_asked_twice),
        cmocka_unit_test (test_dropped_step),
        cmocka_unit_test (test_early_decision),
        cmocka_unit_test (test_samples_of_one_update),
        cmocka_unit_test (test_samples_out_of_place),
        cmocka_unit_test (test_all_follow_replica_0),
        cmocka_unit_test (test_signal),
        cmocka_unit_test (test_signal_chain),
        cmocka_unit_test (test_signal_dropped),
        cmocka_unit_test (test_threads),
        cmocka_unit_test (test_inert_after_fork),
        cmocka_unit_test (test_setups_that_cannot_be),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
