/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch that a simulated job trains with: a fixed total batch, split over its replicas, or the
 * best one by the model fitted to the job's own samples.
 */
#include "sim/training.h"

struct pollux_batch batch_limit (const struct pollux_limits *limits, struct pollux_batch batch,
                                 int replicas)
{
    int64_t most = limits->max_batch / (replicas * (batch.s + 1));
    if (most < 1)
        most = 1; /* more replicas than Mmax: a step has at least one sample */
    return (struct pollux_batch){.m = batch.m < most ? batch.m : most, .s = batch.s};
}

/* One replica with more than M0 samples accumulates, as in the published simulator: the noise scale
 * needs two gradients. */
struct pollux_batch batch_split (const struct pollux_limits *limits, int64_t total_batch,
                                 int replicas)
{
    int64_t min_steps = replicas == 1 && total_batch > limits->init_batch ? 2 : 1;
    struct pollux_batch batch =
        pollux_split_batch (total_batch, replicas, limits->max_local, min_steps);
    return batch_limit (limits, batch, replicas);
}

struct batch_fit *batch_adapter_here (struct batch_adapter *adapter,
                                      const struct training *training)
{
    return &adapter->fits[app_index (training->here)];
}

int batch_adapter_refit (struct batch_adapter *adapter, const struct training *training,
                         struct pollux_error *err)
{
    struct batch_fit *here = batch_adapter_here (adapter, training);
    const struct type_samples *samples = training_samples (training);
    if (samples->count == here->count)
        return 0;
    const struct pollux_model *last = here->count > 0 ? &here->fit.model : NULL;
    struct pollux_fit fit;
    int code = pollux_fit (samples->list, samples->count, last, &fit, err);
    if (code < 0)
        return code;
    *here = (struct batch_fit){.fit = fit, .count = samples->count};
    return 0;
}

int batch_adapt (void *self, const struct training *training, struct pollux_batch *ret,
                 struct pollux_error *err)
{
    struct batch_adapter *adapter = self;
    const struct pollux_limits *limits = &training->limits;
    int64_t least = limits->min_local * training->replicas;
    struct pollux_best best = {.goodput = 0};
    if (training_samples (training)->count > 0) {
        struct pollux_shape shape = {.nodes = training->nodes, .replicas = training->replicas};
        int code = batch_adapter_refit (adapter, training, err);
        if (code == 0)
            code = pollux_best_batch (&batch_adapter_here (adapter, training)->fit.model,
                                      training->grad, limits, adapter->search, shape, &best, err);
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
