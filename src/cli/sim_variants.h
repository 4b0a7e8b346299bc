/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a comparison: each policy; with goals, each policy with each goal and with fixed sizes of the cluster. */
#ifndef CLI_SIM_VARIANTS_H
#define CLI_SIM_VARIANTS_H

#include "cli/sim_options.h"
#include "policy/policy.h"

struct sim_variant {
    const struct policy *policy;
    struct sim_config config;
    bool fixed; /* a fixed size, to compare goals with */
    char name[NAME_SIZE + GOAL_SIZE];
};

struct sim_variants {
    struct sim_variant *list;
    int count;
};

/* Sizes of a cluster from its minimum to its maximum: 17 of 65,536 nodes by doubling, 33 in steps of half that. */
enum { FIXED_SIZES_LIMIT = 40 };

/* Which fixed sizes: the largest group has 1, 2, 4, ... nodes from its minimum, or from `least` if that is more, to its maximum, or
 * to `most`; with `halves` also 3, 6, 12 and so on.  Others have nodes in proportion. */
struct fixed_range {
    int least, most; /* 0: those of the group */
    bool halves;
};
int sim_fixed_sizes (const struct sim_config *config, struct fixed_range range,
                     struct sim_config ret[FIXED_SIZES_LIMIT]);

/* Nodes of all groups at the start. */
int sim_start_nodes (const struct sim_config *config);

/* Belongs to the caller (sim_variants_clear).  -EINVAL: a goal cannot hold; -ENOMEM. */
int sim_variants_new (const struct sim_options *options, const struct policy *const *chosen,
                      int policy_count, struct fixed_range range, struct sim_variants *ret,
                      struct pollux_error *err);
void sim_variants_clear (struct sim_variants *variants);

#endif
