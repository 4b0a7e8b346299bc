/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that describe the simulated cluster and its applications.
 */
#include "cli/sim_options.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy_options.h"

struct sim_options sim_options_defaults (void)
{
    return (struct sim_options){.config = sim_defaults ()};
}

static int take_int (const struct options *options, int most, int *ret, struct pollux_error *err)
{
    int64_t value = 0;
    int rc = options_int64 (options, 1, most, &value, err);
    if (rc == 0)
        *ret = (int)value;
    return rc;
}

/* The result of an option, or -EINVAL if it and another one describe two clusters. */
static int exclude (const struct sim_options *options, int rc, struct pollux_error *err)
{
    if (rc == 0 && options->has_size && options->config.group_count > 0)
        return fail (err, -EINVAL,
                     "--nodes and --gpus-per-node exclude --node-group and --cluster");
    return rc;
}

static int take_goal (struct sim_options *ret, const struct options *options,
                      struct pollux_error *err)
{
    struct pollux_error why;
    struct goal goal;
    int rc = goal_parse (options->argument, &goal, &why);
    if (rc < 0)
        return fail (err, rc, "--goal: %s", why.text);
    if (goal.kind == GOAL_FIXED)
        return fail (err, -EINVAL,
                     "--goal: fixed sizes are simulated beside every goal; expected band:LOW,HIGH, "
                     "budget:X or cost:F");
    if (ret->goal_count == SIM_GOALS_LIMIT)
        return fail (err, -EINVAL, "--goal: more than %d goals", SIM_GOALS_LIMIT);
    ret->goals[ret->goal_count++] = goal;
    return 0;
}

int sim_options_check (const struct sim_options *options, struct pollux_error *err)
{
    if (options->goal_count > 0 && !options->has_file)
        return fail (err, -EINVAL,
                     "--goal needs groups of nodes with a minimum and a maximum: "
                     "give --cluster FILE");
    for (int i = 0; i <= options->goal_count; i++) {
        struct sim_config config = options->config;
        if (i < options->goal_count)
            config.goal = options->goals[i];
        int rc = options->config.group_count > 0 && (i < options->goal_count || i == 0)
                     ? sim_check (&config, err)
                     : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int sim_options_take (struct sim_options *ret, const struct options *options, int id,
                      struct pollux_error *err)
{
    struct sim_config *config = &ret->config;
    int64_t seed = 0;
    size_t choice = 0;
    struct pollux_error why;
    int rc;
    switch ((enum sim_option_id)id) {
    case SIM_OPTION_TRACES:
    case SIM_OPTION_PROFILES:
        *(id == SIM_OPTION_TRACES ? &ret->files.traces_dir : &ret->files.profiles) =
            options->argument;
        if (ret->files.traces_dir && ret->files.profiles)
            return fail (err, -EINVAL, "--traces and --profiles exclude each other");
        return 0;
    case SIM_OPTION_NODES:
        ret->has_size = true;
        return exclude (ret, take_int (options, NODES_LIMIT, &config->nodes, err), err);
    case SIM_OPTION_SLOTS:
        ret->has_size = true;
        return exclude (ret, take_int (options, SLOTS_LIMIT, &config->slots_per_node, err), err);
    case SIM_OPTION_GROUPS:
        if (config->group_count > 0)
            return fail (err, -EINVAL, "--node-group and --cluster: expected one of them, once");
        rc = wire_node_groups_parse (options->argument, config->groups, &config->group_count, &why);
        rc = rc < 0 ? fail (err, rc, "--node-group: %s", why.text) : 0;
        return exclude (ret, rc, err);
    case SIM_OPTION_CLUSTER:
        if (config->group_count > 0)
            return fail (err, -EINVAL, "--node-group and --cluster: expected one of them, once");
        rc = wire_node_groups_read (options->argument, config->groups, &config->group_count, err);
        ret->has_file = true;
        return exclude (ret, rc, err);
    case SIM_OPTION_GOAL:
        return take_goal (ret, options, err);
    case SIM_OPTION_MAX_REPLICAS:
        return take_int (options, POLLUX_REPLICAS_LIMIT, &config->max_replicas, err);
    case SIM_OPTION_INTERVAL:
        return options_double (options, 1, 1e6, &config->interval_s, err);
    case SIM_OPTION_DELAY:
        config->one_delay = true;
        return options_double (options, 0, 1e6, &config->restart_delay_s, err);
    case SIM_OPTION_INTERFERENCE:
        return options_double (options, 0, 0.999, &config->interference, err);
    case SIM_OPTION_REMAINING_ERROR:
        return options_double (options, 0, SIM_ERROR_LIMIT, &config->remaining_error, err);
    case SIM_OPTION_JOB_SPREAD:
        return options_double (options, 0, 3, &config->job_spread, err);
    case SIM_OPTION_EXPERIENCE:
        rc = options_choice (options, experience_names, EXPERIENCE_KINDS, &choice, err);
        if (rc == 0)
            config->experience = (enum experience_kind)choice;
        return rc;
    case SIM_OPTION_P:
        return options_double (options, -INFINITY, 1, &config->p, err);
    case SIM_OPTION_POLICY_OPTION:
        return policy_settings_parse (options->argument, &config->settings, err);
    case SIM_OPTION_AGENT:
        rc = options_choice (options, job_agent_names, JOB_AGENT_KINDS, &choice, err);
        if (rc == 0)
            config->agent = (enum job_agent_kind)choice;
        return rc;
    case SIM_OPTION_SEED:
        rc = options_int64 (options, 0, INT64_MAX, &seed, err);
        if (rc == 0)
            config->seed = (uint64_t)seed;
        return rc;
    case SIM_OPTION_NEXT:
        break;
    }
    return fail (err, -EINVAL, "unknown option %d", id);
}
