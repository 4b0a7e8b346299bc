/* SPDX-License-Identifier: Apache-2.0 */
/* The options that the simulator's commands share: the cluster and the applications. */
#ifndef CLI_SIM_OPTIONS_H
#define CLI_SIM_OPTIONS_H

#include "base/options.h"
#include "cli/sim_inputs.h"
#include "sim/sim.h"

/* Goals to compare: each is a row. */
enum { SIM_GOALS_LIMIT = 32 };

struct sim_options {
    struct sim_config config;
    struct sim_input_files files;
    bool has_size; /* --nodes or --gpus-per-node was given */
    bool has_file; /* --cluster was given */
    struct goal goals[SIM_GOALS_LIMIT];
    int goal_count;
};

enum sim_option_id {
    SIM_OPTION_TRACES = 1,
    SIM_OPTION_PROFILES,
    SIM_OPTION_NODES,
    SIM_OPTION_SLOTS,
    SIM_OPTION_GROUPS,
    SIM_OPTION_CLUSTER,
    SIM_OPTION_GOAL,
    SIM_OPTION_INTERVAL,
    SIM_OPTION_DELAY,
    SIM_OPTION_INTERFERENCE,
    SIM_OPTION_P,
    SIM_OPTION_POLICY_OPTION,
    SIM_OPTION_MAX_REPLICAS,
    SIM_OPTION_REMAINING_ERROR,
    SIM_OPTION_JOB_SPREAD,
    SIM_OPTION_EXPERIENCE,
    SIM_OPTION_AGENT,
    SIM_OPTION_SEED,
    SIM_OPTION_NEXT, /* first id of a command's own options */
};

/* Rows for a command's table: --nodes, and the other options. */
#define SIM_OPTION_NODES_ROW                                                                       \
    {                                                                                              \
        "nodes", "N", SIM_OPTION_NODES, "nodes of the cluster (16)"                                \
    }
#define SIM_OPTION_ROWS                                                                            \
    {"traces", "DIR", SIM_OPTION_TRACES, "measured applications, in the published format"},        \
        {"profiles", "FILE", SIM_OPTION_PROFILES, "applications as profiles (JSON)"},              \
        {"gpus-per-node", "N", SIM_OPTION_SLOTS, "GPUs of each node (4)"},                         \
        {"node-group", "TYPE:NxGPUS,...", SIM_OPTION_GROUPS,                                       \
         "instead: nodes with types, such as t4:6x4,a100:2x8"},                                    \
        {"cluster", "FILE", SIM_OPTION_CLUSTER, "instead: such groups of nodes from a file"},      \
        {"goal", "GOAL", SIM_OPTION_GOAL,                                                          \
         "the size follows band:LOW,HIGH, budget:X or cost:F; may be repeated"},                   \
        {"interval", "SECONDS", SIM_OPTION_INTERVAL, "time between rounds (60)"},                  \
        {"restart-delay", "SECONDS", SIM_OPTION_DELAY, "time that a restart costs a job (30)"},    \
        {"interference", "SHARE", SIM_OPTION_INTERFERENCE,                                         \
         "speed lost by multi-node jobs on a shared node (0)"},                                    \
        {"p", "FAIRNESS", SIM_OPTION_P, "fairness of pollux: 1 (throughput) to -inf (-1)"},        \
        {"policy-option", "NAME=VALUE", SIM_OPTION_POLICY_OPTION,                                  \
         "an option of a policy, listed below; may be repeated"},                                  \
        {"max-replicas", "N", SIM_OPTION_MAX_REPLICAS, "most GPUs of one adaptive job (64)"},      \
        {"remaining-error", "SIGMA", SIM_OPTION_REMAINING_ERROR,                                   \
         "error of remaining work: factor exp (SIGMA x normal) (0)"},                              \
        {"job-spread", "SIGMA", SIM_OPTION_JOB_SPREAD,                                             \
         "jobs differ from their application: factors exp (SIGMA x normal) (0)"},                  \
        {"experience", "off|on|wrong", SIM_OPTION_EXPERIENCE,                                      \
         "jobs learn from earlier ones of their application (off)"},                               \
        {"agent", "published|real", SIM_OPTION_AGENT,                                              \
         "how jobs adapt their batches (published); see pollux-sim(1)"},                           \
    {                                                                                              \
        "seed", "N", SIM_OPTION_SEED, "seed of the random numbers (0)"                             \
    }

struct sim_options sim_options_defaults (void);

/* After the last option: do they fit together?  -EINVAL. */
int sim_options_check (const struct sim_options *options, struct pollux_error *err);

/* Take the current option, whose id is one of those above. */
int sim_options_take (struct sim_options *ret, const struct options *options, int id,
                      struct pollux_error *err);

#endif
