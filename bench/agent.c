/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that the agent adds to a training loop, without the norms: all its calls of one update on the
 * only replica, with a socket that is not read; the same with 16 groups on 4 replicas; and a fit of
 * 30 configurations, which is made every 30 s.  Then the checksum of checkpoints and the sampler.
 */
#include "bench.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/checksum.h"

enum { GROUPS = 16, CONFIGS = 30, BYTES = 1 << 20, INDICES = 1024 };

/* A step takes 50 ms on a simulated clock, so that fits and reports are as frequent as in training. */
struct work {
    struct pollux_agent *agent;
    double clock_s;
    int64_t steps;
    struct tuner tuner;
    struct profile profile;
    uint8_t *bytes;
};

static double clock_of (void *context)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now); /* include the cost of reading the real clock */
    bench_keep ((double)now.tv_nsec);
    return *(double *)context;
}

static void advise (struct work *work)
{
    size_t count;
    struct pollux_advice advice;
    bench_keep (pollux_agent_decide (work->agent, &count)[0]);
    if (pollux_agent_follow (work->agent, &advice, NULL) < 0)
        exit (1);
}

static void step (void *arg)
{
    struct work *work = arg;
    static const double one[GROUPS] = {1, 1}, two[GROUPS] = {2, 2};
    bool single = work->agent->world.shape.replicas == 1;
    if (work->steps++ % 1000 == 0) {
        pollux_agent_pass_begin (work->agent);
        advise (work);
    }
    pollux_agent_step_begin (work->agent);
    work->clock_s += 0.04;
    pollux_agent_sync_begin (work->agent);
    work->clock_s += single ? 0 : 0.01;
    pollux_agent_sync_end (work->agent);
    int code = single ? pollux_agent_gradients_single (work->agent, one, two, NULL)
                      : pollux_agent_gradients (work->agent, 1, two, one, NULL);
    if (code < 0)
        exit (1);
    advise (work);
    for (int g = 0; g < work->agent->groups; g++)
        bench_keep (pollux_agent_factor (work->agent, g));
    pollux_agent_step_end (work->agent);
}

/* The mean over 50 minutes of training: few steps contain a fit or a report. */
static double mean_seconds (struct work *work)
{
    enum { STEPS = 60000 };
    double start_s = bench_now_s ();
    for (int i = 0; i < STEPS; i++)
        step (work);
    return (bench_now_s () - start_s) / STEPS;
}

static void agent_open (struct work *work, int groups, int replicas)
{
    struct pollux_setup setup;
    pollux_setup_default (64, &setup);
    setup.limits = (struct pollux_limits){64, 8192, 1, 512, false};
    setup.groups = groups;
    setup.world = (struct pollux_world){.shape = {1, replicas}, .generation = 1};
    if (pollux_agent_open (&setup, &work->agent, NULL) < 0)
        exit (1);
    work->agent->now_s = clock_of;
    work->agent->clock = &work->clock_s;
}

static void fit (void *arg)
{
    struct work *work = arg;
    struct pollux_grad grad = {.sqr = 1, .var = 8};
    work->profile.steps += 100;
    work->clock_s += 30;
    bench_keep (tuner_refit (&work->tuner, &work->profile, grad, false, work->clock_s));
}

static void sum (void *arg)
{
    const struct work *work = arg;
    bench_keep ((double)checksum_of (work->bytes, BYTES));
}

static void take (void *arg)
{
    (void)arg;
    static int64_t indices[INDICES];
    const struct pollux_sampler sampler = {.seed = 1, .length = 1281167, .pass = 3, .offset = 77};
    if (pollux_sampler_take (&sampler, 1, 0, (struct pollux_batch){INDICES, 0}, 0, indices, NULL))
        exit (1);
    bench_keep ((double)indices[0]);
}

int main (void)
{
    char directory[] = "/tmp/pollux-bench-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct work work = {.bytes = calloc (1, BYTES)};
    if (!work.bytes || !mkdtemp (directory))
        return 1;
    snprintf (address.sun_path, sizeof (address.sun_path), "%s/socket", directory);
    int file = socket (AF_UNIX, SOCK_DGRAM, 0); /* cppcheck-suppress resourceLeak */
    if (file < 0 || bind (file, (struct sockaddr *)&address, sizeof (address)) < 0)
        return 1;
    setenv ("POLLUX_SOCKET", address.sun_path, 1);

    agent_open (&work, 1, 1);
    double one_s = mean_seconds (&work);
    pollux_agent_close (work.agent);
    agent_open (&work, GROUPS, 4);
    double many_s = mean_seconds (&work);
    pollux_agent_close (work.agent);

    const struct pollux_limits limits = {64, 8192, 1, 512, true};
    tuner_start (&work.tuner, &limits, (struct pollux_shape){1, 4}, 30);
    for (int i = 0; i < CONFIGS; i++) {
        int replicas = 1 + i % 6;
        double m = 8 * (1 + i / 6), grad_s = 0.02 + 0.001 * m;
        profile_add (&work.profile, (struct pollux_shape){1 + (i % 6 > 3), replicas}, (int64_t)m,
                     grad_s, grad_s * (1 + 0.01 * (i % 3)) + 0.01 * (replicas - 1));
    }
    double fit_s = bench_seconds (fit, &work);

    bench_print ("step-K1", 1e6 * one_s, "us");
    bench_target ("step-K1", 1e6 * one_s, 20);
    bench_print ("step-K4-16-groups", 1e6 * many_s, "us");
    bench_print ("refit-30-configurations", 1e6 * fit_s, "us");
    bench_print ("refit-per-50ms-step", 1e6 * fit_s / 600, "us");
    bench_print ("checksum", 1e-9 * BYTES / bench_seconds (sum, &work), "GB/s");
    bench_print ("sampler-index", 1e9 * bench_seconds (take, NULL) / INDICES, "ns");
    unlink (address.sun_path);
    rmdir (directory);
    close (file);
    free (work.bytes);
    return 0;
}
