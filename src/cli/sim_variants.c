/* SPDX-License-Identifier: Apache-2.0 */
/* Policies times goals and fixed sizes: the list of simulations that one comparison needs. */
#include "cli/sim_variants.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

int sim_start_nodes (const struct sim_config *config)
{
    int nodes = 0;
    for (int g = 0; g < config->group_count; g++)
        nodes += config->groups[g].nodes;
    return nodes;
}

static int clamp (double value, int least, int most)
{
    return value < least ? least : value > most ? most : (int)lround (value);
}

int sim_fixed_sizes (const struct sim_config *config, struct fixed_range range,
                     struct sim_config ret[FIXED_SIZES_LIMIT])
{
    const struct node_group *largest = &config->groups[0];
    int count = 0;
    for (int g = 1; g < config->group_count; g++)
        if (config->groups[g].max_nodes > largest->max_nodes)
            largest = &config->groups[g];
    int least = largest->min_nodes > range.least ? largest->min_nodes : range.least, last = 0;
    int most = range.most > 0 && range.most < largest->max_nodes ? range.most : largest->max_nodes;
    int nodes = least > 0 ? least : 1;
    for (int step = 0; last < most && count < FIXED_SIZES_LIMIT; step++) {
        int next = step % 2 == 0 ? nodes : nodes + nodes / 2;
        nodes = step % 2 == 0 ? nodes : 2 * nodes;
        if (next <= last || (step % 2 == 1 && !range.halves))
            continue;
        last = next < most ? next : most;
        ret[count] = *config;
        ret[count].goal = (struct goal){.kind = GOAL_FIXED};
        for (int g = 0; g < config->group_count; g++) {
            struct node_group *group = &ret[count].groups[g];
            group->nodes = clamp ((double)group->max_nodes * last / largest->max_nodes,
                                  group->min_nodes, group->max_nodes);
        }
        count++;
    }
    return count;
}

void sim_variants_clear (struct sim_variants *variants)
{
    free (variants->list);
    *variants = (struct sim_variants){0};
}

static struct sim_variant *add (struct sim_variants *variants, const struct policy *policy,
                                const struct sim_config *config)
{
    struct sim_variant *variant = &variants->list[variants->count++];
    *variant = (struct sim_variant){.policy = policy, .config = *config};
    snprintf (variant->name, sizeof (variant->name), "%s", policy->name);
    return variant;
}

int sim_variants_new (const struct sim_options *options, const struct policy *const *chosen,
                      int policy_count, struct fixed_range range, struct sim_variants *ret,
                      struct pollux_error *err)
{
    struct sim_variants variants = {0};
    const struct sim_config *config = &options->config;
    struct sim_config *sizes = calloc (FIXED_SIZES_LIMIT, sizeof (sizes[0]));
    int size_count = sizes && options->goal_count > 0 ? sim_fixed_sizes (config, range, sizes) : 0;
    size_t most = (size_t)policy_count * (size_t)(1 + options->goal_count + size_count);
    variants.list = calloc (most, sizeof (variants.list[0]));
    if (!sizes || !variants.list) {
        free (sizes);
        free (variants.list);
        return fail (err, -ENOMEM, "no memory for %zu simulations", most);
    }
    int rc = 0;
    for (int p = 0; p < policy_count; p++) {
        if (options->goal_count == 0)
            add (&variants, chosen[p], config);
        for (int i = 0; i < options->goal_count && rc == 0; i++) {
            struct sim_variant *variant = add (&variants, chosen[p], config);
            char text[GOAL_SIZE];
            variant->config.goal = options->goals[i];
            goal_format (&options->goals[i], text);
            snprintf (variant->name, sizeof (variant->name), "%s %s", chosen[p]->name, text);
            rc = sim_check (&variant->config, err);
        }
        for (int i = 0; i < size_count; i++) {
            struct sim_variant *variant = add (&variants, chosen[p], &sizes[i]);
            int nodes = sim_start_nodes (&sizes[i]);
            variant->fixed = true;
            snprintf (variant->name, sizeof (variant->name), "%s %d node%s", chosen[p]->name, nodes,
                      nodes == 1 ? "" : "s");
        }
    }
    free (sizes);
    if (rc == 0)
        *ret = variants;
    else
        sim_variants_clear (&variants);
    return rc;
}
