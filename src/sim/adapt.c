/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which batch a job trains with: a fixed total batch, split over its replicas, or the best one
 * that the job's own fitted model sees.
 */
#include <math.h>

#include "sim/train.h"

/* Quotients of integers that are whole may come out a little above. */
static double ceiling (double x)
{
    return ceil (x - 1e-8);
}

struct pollux_batch batch_limit (const struct pollux_limits *limits, struct pollux_batch batch,
                                 int replicas)
{
    int64_t most = limits->max_batch / (replicas * (batch.s + 1));
    if (most < 1)
        most = 1; /* more replicas than samples: nobody should, but a step has a sample */
    return (struct pollux_batch){.m = batch.m < most ? batch.m : most, .s = batch.s};
}

struct pollux_batch batch_split (const struct pollux_limits *limits, int64_t total_batch,
                                 int replicas)
{
    double local = ceiling ((double)total_batch / replicas);
    double s = ceiling (local / (double)limits->max_local) - 1;
    if (s < 1 && replicas == 1 && total_batch > limits->init_batch)
        s = 1;
    double m = ceiling (local / (s + 1));
    return batch_limit (limits, (struct pollux_batch){.m = (int64_t)m, .s = (int64_t)s}, replicas);
}

int batch_adapter_refit (struct batch_adapter *adapter, const struct training *training,
                         struct pollux_error *err)
{
    if (training->sample_count == adapter->fitted_count)
        return 0;
    const struct pollux_model *last = adapter->fitted_count > 0 ? &adapter->fit.model : NULL;
    struct pollux_fit fit;
    int code = pollux_fit (training->samples, training->sample_count, last, &fit, err);
    if (code < 0)
        return code;
    adapter->fit = fit;
    adapter->fitted_count = training->sample_count;
    return 0;
}

int batch_adapt (void *self, const struct training *training, struct pollux_batch *ret,
                 struct pollux_error *err)
{
    struct batch_adapter *adapter = self;
    const struct pollux_limits *limits = app_limits (training->app);
    int64_t least = limits->min_local * training->replicas;
    struct pollux_best best = {.goodput = 0};
    if (training->sample_count > 0) {
        struct pollux_shape shape = {.nodes = training->nodes, .replicas = training->replicas};
        int code = batch_adapter_refit (adapter, training, err);
        if (code == 0)
            code = pollux_best_batch (&adapter->fit.model, training->grad, limits, adapter->search,
                                      shape, &best, err);
        if (code < 0)
            return code;
    }
    if (best.goodput > 0)
        *ret = best.batch;
    else
        *ret = batch_split (limits, least > limits->init_batch ? least : limits->init_batch,
                            training->replicas);
    return 0;
}
