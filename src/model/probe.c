/* SPDX-License-Identifier: Apache-2.0 */
/* Which updates are probes, and their batch. */
#include "model/probe.h"

bool probe_is_due (uint64_t update, bool adam)
{
    uint64_t first = adam ? PROBE_FIRST_ADAM : 0;
    uint64_t period = update < PROBE_EARLY ? PROBE_PERIOD_EARLY : PROBE_PERIOD;
    return update >= first && (update < first + PROBE_FIRST_COUNT || update % period == 0);
}

bool probe_is_needed (const struct pollux_limits *limits, int replicas)
{
    return replicas == 1 && limits->max_batch > limits->init_batch;
}

struct pollux_batch probe_batch (const struct pollux_limits *limits, struct pollux_batch batch)
{
    int64_t half = batch.m < limits->max_batch ? (batch.m + 1) / 2 : batch.m / 2;
    if (batch.s != 0 || !limits->accumulation)
        return batch;
    if (batch.m >= 2 && half >= limits->min_local)
        return (struct pollux_batch){half, 1};
    return 2 * batch.m <= limits->max_batch ? (struct pollux_batch){batch.m, 1} : batch;
}
