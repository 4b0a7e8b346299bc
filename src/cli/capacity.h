/* SPDX-License-Identifier: Apache-2.0 */
/* What the questions of `pollux capacity` share: how many nodes (capacity.c), which mix of groups (capacity_mix.c), and what
 * goals cost (capacity_goal.c). */
#ifndef CLI_CAPACITY_H
#define CLI_CAPACITY_H

#include "cli/sim_options.h"
#include "policy/policy.h"

struct capacity_request {
    struct sim_options sim;
    const struct policy *policy;
    double target_mean_s, target_p99_s; /* NaN: none */
    int64_t min_nodes, max_nodes, threads;
    bool has_range; /* --min-nodes or --max-nodes was given */
    /* Cost of a GPU per hour: of all, or by type. */
    double price;
    struct type_price {
        char type[NAME_SIZE];
        double price;
    } prices[NODE_GROUPS_LIMIT];
    int price_count; /* 0: `price` for all */
    bool has_price;  /* --price was given */
    bool json;
};

bool capacity_has_target (const struct capacity_request *request);

/* True if these times, means over the workloads, meet the targets; a missing target is met. */
bool capacity_meets (const struct capacity_request *request, double mean_jct_s, double p99_jct_s);

/* Which mix of the types of request->sim.config.groups, with at most their numbers of nodes.  The exit status, or a
 * failure. */
int capacity_study_mixes (void *request, const struct sim_inputs *inputs, FILE *out,
                          struct pollux_error *err);

/* What sizes that follow the goals of request->sim cost, beside fixed sizes.  The exit status, or a failure. */
int capacity_study_goals (void *request, const struct sim_inputs *inputs, FILE *out,
                          struct pollux_error *err);

#endif
