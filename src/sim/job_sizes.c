/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes depend on the application alone.  Its training time on a placement is the sum over epochs
 * of the needed progress divided by the rate.
 */
#include "sim/job_sizes.h"

#include <math.h>
#include <string.h>

#include "sim/training.h"

/* Scaling efficiency of sensible requests: below, slots are wasted; above, more would help. */
static const double least_efficiency = 0.5, most_efficiency = 0.8;

double training_seconds (const struct app *app, int replicas, int slots_per_node, int64_t batch)
{
    enum { MANY = 64 }; /* nodes at most; the rest of the replicas goes to the last one */
    int counts[MANY], nodes = (replicas + slots_per_node - 1) / slots_per_node;
    nodes = nodes < MANY ? nodes : MANY;
    for (int i = 0; i < nodes; i++)
        counts[i] = i + 1 < nodes ? slots_per_node : replicas - slots_per_node * (nodes - 1);

    const struct pollux_limits *limits = app_limits (app);
    struct pollux_batch split = batch_split (limits, batch, replicas);
    double iter_s = app_iter_time (app_step (app, counts, nodes, split.m), split.s);
    double total = pollux_total_batch ((struct pollux_shape){nodes, replicas}, split);
    double iterations = 0;
    for (int e = 0; e < app_max_epochs (app); e++)
        iterations += (app_need (app, e + 1) - app_need (app, e)) /
                      pollux_gain (app_grad (app, e, total), total / (double)limits->init_batch);
    return iterations * iter_s;
}

/* The fastest batch for some replicas; infinite seconds if no batch is large enough. */
static struct job_size best_size (const struct app *app, int replicas, int slots_per_node)
{
    const struct pollux_limits *limits = app_limits (app);
    struct job_size best = {.replicas = replicas, .seconds = INFINITY};
    int64_t batch = limits->init_batch;
    for (bool last = false; !last; batch *= 2) {
        last = batch >= limits->max_batch;
        if (last)
            batch = limits->max_batch;
        if (batch < replicas * limits->min_local)
            continue;
        double seconds = training_seconds (app, replicas, slots_per_node, batch);
        if (seconds < best.seconds) {
            best.batch = batch;
            best.seconds = seconds;
        }
    }
    return best;
}

/* 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, ... */
static int next_replicas (int replicas)
{
    if (replicas <= 2)
        return 2 * replicas;
    return (replicas & (replicas - 1)) == 0 ? replicas / 2 * 3 : replicas / 3 * 4;
}

int app_sizes (const struct app *app, int most, int slots_per_node,
               struct job_size ret[SIZES_LIMIT])
{
    struct app_pin pin = app_pin (app);
    if (pin.replicas > 0) {
        ret[0] = (struct job_size){pin.replicas, pin.batch,
                                   training_seconds (app, pin.replicas, slots_per_node, pin.batch)};
        return 1;
    }
    struct job_size one = best_size (app, 1, slots_per_node), modest = one;
    int count = 0;
    for (int replicas = 2; replicas <= most && count < SIZES_LIMIT;
         replicas = next_replicas (replicas)) {
        struct job_size size = best_size (app, replicas, slots_per_node);
        double efficiency = one.seconds / size.seconds / replicas;
        if (efficiency > most_efficiency)
            modest = size;
        else if (efficiency >= least_efficiency)
            ret[count++] = size;
    }
    if (count == 0)
        ret[count++] = modest;
    return count;
}
