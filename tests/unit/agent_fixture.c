/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_fixture.h"

#include "unit.h"

static double clock_of (void *context)
{
    return *(double *)context;
}

struct pollux_setup agent_setup (int replicas, int nodes)
{
    struct pollux_setup setup;
    pollux_setup_default (64, &setup);
    setup.limits = (struct pollux_limits){64, 4096, 1, 512, true};
    setup.world.shape = (struct pollux_shape){nodes, replicas};
    return setup;
}

struct pollux_agent *agent_with_clock (const struct pollux_setup *setup, double *clock_s)
{
    struct pollux_agent *agent;
    struct pollux_error err = {.text = ""};
    if (pollux_agent_open (setup, &agent, &err) < 0)
        fail_msg ("%s", err.text);
    agent->now_s = clock_of;
    agent->clock = clock_s;
    return agent;
}

struct pollux_advice agent_advise (struct pollux_agent *agent)
{
    size_t count;
    struct pollux_advice advice;
    struct pollux_error err = {.text = ""};
    pollux_agent_decide (agent, &count);
    if (pollux_agent_follow (agent, &advice, &err) < 0)
        fail_msg ("%s", err.text);
    return advice;
}

static const struct pollux_model agent_truth = {0.02, 0.0005, 0.05, 0.004, 0.01, 0.001, 1.6};

/* A random gradient of m samples: the true one has squared norm 1, the noise a total variance of
 * `noise` per sample, so that phi = noise. */
static void draw (struct rng *rng, double noise, int64_t m, double ret[DIM])
{
    for (int d = 0; d < DIM; d++)
        ret[d] = (1 + sqrt (noise / (double)m) * rng_gaussian (rng)) / sqrt (DIM);
}

/* One update, timed by the true model. */
struct pollux_advice agent_train (struct pollux_agent *agent, struct rng *rng, double noise,
                                  double *clock_s, double kept[DIM])
{
    struct pollux_batch batch = agent->advice.batch;
    struct pollux_shape shape = agent->world.shape;
    double grad_s = pollux_grad_time (&agent_truth, batch.m), g[DIM], mean[DIM] = {0},
           micro_sqr = 0;
    double whole_s = pollux_iter_time (&agent_truth, shape, batch);
    int64_t n = shape.replicas * (batch.s + 1);
    pollux_agent_step_begin (agent);
    for (int64_t i = 0; i < batch.s; i++)
        *clock_s += grad_s, pollux_agent_micro_end (agent);
    for (int64_t i = 0; i < n; i++) {
        draw (rng, noise, batch.m, g);
        micro_sqr += pollux_sqr_f64 (g, DIM, NULL, NULL) / (double)n;
        for (int d = 0; d < DIM; d++)
            mean[d] += g[d] / (double)n;
    }
    *clock_s += grad_s;
    pollux_agent_sync_begin (agent);
    *clock_s += whole_s - (double)(batch.s + 1) * grad_s;
    pollux_agent_sync_end (agent);
    if (n > 1) {
        double mean_sqr = pollux_sqr_f64 (mean, DIM, NULL, NULL);
        assert_int_equal (pollux_agent_gradients (agent, batch.s + 1, &micro_sqr, &mean_sqr, NULL),
                          0);
    } else {
        struct pollux_pair pair = pollux_pair_f64 (kept, g, DIM, NULL, NULL);
        assert_int_equal (pollux_agent_gradients_single (agent, &pair.dot, &pair.diff_sqr, NULL),
                          0);
        memcpy (kept, g, sizeof (g));
    }
    struct pollux_advice advice = agent_advise (agent);
    pollux_agent_step_end (agent);
    return advice;
}
