/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a simulation: defaults as published, and ranges.
 */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "sim/sim.h"

struct sim_config sim_defaults (void)
{
    return (struct sim_config){
        .nodes = 16,
        .slots_per_node = 4,
        .interval_s = 60,
        .restart_delay_s = 30,
        .p = -1,
        .max_replicas = 64,
    };
}

int sim_check (const struct sim_config *config, struct pollux_error *err)
{
    if (config->nodes < 1 || config->nodes > NODES_LIMIT)
        return fail (err, -EINVAL, "nodes: expected 1 to %d, got %d", NODES_LIMIT, config->nodes);
    if (config->slots_per_node < 1 || config->slots_per_node > SLOTS_LIMIT)
        return fail (err, -EINVAL, "GPUs per node: expected 1 to %d, got %d", SLOTS_LIMIT,
                     config->slots_per_node);
    if (!(config->interval_s >= 1 && config->interval_s <= 1e6))
        return fail (err, -EINVAL, "interval: expected 1 to 1e6 seconds, got %g",
                     config->interval_s);
    if (!(config->restart_delay_s >= 0 && config->restart_delay_s <= 1e6))
        return fail (err, -EINVAL, "restart delay: expected 0 to 1e6 seconds, got %g",
                     config->restart_delay_s);
    if (!(config->interference >= 0 && config->interference < 1))
        return fail (err, -EINVAL, "interference: expected at least 0 and less than 1, got %g",
                     config->interference);
    if (!(config->p <= 1))
        return fail (err, -EINVAL, "p: expected -inf to 1, got %g", config->p);
    if (!(config->remaining_error >= 0 && config->remaining_error <= SIM_ERROR_LIMIT))
        return fail (err, -EINVAL, "error of the remaining work: expected 0 to %d, got %g",
                     SIM_ERROR_LIMIT, config->remaining_error);
    if (config->max_replicas < 1 || config->max_replicas > POLLUX_REPLICAS_LIMIT)
        return fail (err, -EINVAL, "most replicas of a job: expected 1 to %d, got %d",
                     POLLUX_REPLICAS_LIMIT, config->max_replicas);
    return 0;
}
