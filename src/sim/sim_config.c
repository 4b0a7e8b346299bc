/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a simulation: defaults as published, and ranges.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
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

const char *const experience_names[EXPERIENCE_KINDS] = {
    [EXPERIENCE_OFF] = "off",
    [EXPERIENCE_ON] = "on",
    [EXPERIENCE_WRONG] = "wrong",
};

struct job_factors sim_job_factors (const struct sim_config *config, const struct workload_job *job)
{
    uint64_t number = 0; /* of the name: independent of the other jobs of the workload */
    for (const char *at = job->name; *at; at++)
        number = number * 257 + (unsigned char)*at;
    struct rng rng = rng_stream (config->seed ^ 0x6a6f6273u, number);
    struct job_factors factors = {1, 1, 1};
    if (config->job_spread > 0) {
        factors.time = exp (config->job_spread * rng_gaussian (&rng));
        factors.sync = exp (config->job_spread * rng_gaussian (&rng));
        factors.noise = exp (config->job_spread * rng_gaussian (&rng));
    }
    return factors;
}

bool sim_typed (const struct sim_config *config)
{
    return config->group_count > 0 && config->groups[0].type[0];
}

bool sim_scaled (const struct sim_config *config)
{
    for (int i = 0; i < config->group_count; i++)
        if (config->groups[i].price_per_node_hour > 0 || config->groups[i].revocable)
            return true;
    return config->group_count > 0 && config->goal.kind != GOAL_FIXED;
}

int sim_group_count (const struct sim_config *config)
{
    return config->group_count > 0 ? config->group_count : 1;
}

struct node_group sim_group (const struct sim_config *config, int index)
{
    if (config->group_count == 0)
        return (struct node_group){.nodes = config->nodes,
                                   .slots_per_node = config->slots_per_node};
    struct node_group group = config->groups[index];
    if (config->goal.kind != GOAL_FIXED)
        group.nodes = group.max_nodes;
    return group;
}

int sim_node_count (const struct sim_config *config)
{
    int nodes = 0;
    for (int i = 0; i < sim_group_count (config); i++)
        nodes += sim_group (config, i).nodes;
    return nodes;
}

int sim_slots (const struct sim_config *config)
{
    int slots = 0;
    for (int i = 0; i < sim_group_count (config); i++) {
        struct node_group group = sim_group (config, i);
        slots += group.nodes * group.slots_per_node;
    }
    return slots;
}

/* Slots of all groups of the type of this one. */
static int slots_of_type (const struct sim_config *config, const char *type)
{
    int slots = 0;
    for (int i = 0; i < sim_group_count (config); i++) {
        struct node_group group = sim_group (config, i);
        slots += strcmp (group.type, type) == 0 ? group.nodes * group.slots_per_node : 0;
    }
    return slots;
}

int sim_type_slots (const struct sim_config *config)
{
    int most = 0;
    for (int i = 0; i < sim_group_count (config); i++) {
        int slots = slots_of_type (config, sim_group (config, i).type);
        most = slots > most ? slots : most;
    }
    return most;
}

int sim_app_slots (const struct sim_config *config, const struct app *app)
{
    int most = 0;
    for (int i = 0; i < sim_group_count (config); i++) {
        struct node_group group = sim_group (config, i);
        int slots = app_on (app, group.type) ? slots_of_type (config, group.type) : 0;
        most = slots > most ? slots : most;
    }
    return most;
}

double sim_delay (const struct sim_config *config, const struct app *app)
{
    bool own = sim_typed (config) && !config->one_delay && !isnan (app_restart_delay (app));
    return own ? app_restart_delay (app) : config->restart_delay_s;
}

static int check_groups (const struct sim_config *config, struct pollux_error *err)
{
    int64_t nodes = 0;
    for (int i = 0; i < config->group_count; i++) {
        const struct node_group *group = &config->groups[i];
        nodes += sim_group (config, i).nodes;
        if (nodes > NODES_LIMIT)
            return fail (err, -EINVAL,
                         "nodes of group %s: expected 1 to %d in all groups, got %lld", group->name,
                         NODES_LIMIT, (long long)nodes);
        if (group->slots_per_node < 1 || group->slots_per_node > SLOTS_LIMIT)
            return fail (err, -EINVAL, "GPUs per node of group %s: expected 1 to %d, got %d",
                         group->name, SLOTS_LIMIT, group->slots_per_node);
    }
    if (config->group_count > 0 && nodes == 0)
        return fail (err, -EINVAL, "expected at least one node in all groups, got none");
    if (config->group_count == 0 && config->goal.kind != GOAL_FIXED)
        return fail (err, -EINVAL, "a goal needs groups of nodes (--cluster)");
    int rc = node_groups_check_types (config->groups, config->group_count, err);
    if (rc < 0)
        return rc;
    return node_groups_check_prices (config->groups, config->group_count, &config->goal, err);
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
    return check_groups (config, err);
}
