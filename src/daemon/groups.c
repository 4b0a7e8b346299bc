/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes: from the cluster file to a GROUPS event, at the start and at a reload.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "daemon/daemon_private.h"
#include "wire/node_groups.h"

/* ---- Reading ------------------------------------------------------------------------------ */

static bool has_hooks (const struct wire_config *config, const struct backend_ops *backend)
{
    return backend->power_words || (config->grow && config->shrink);
}

static int check_hooks (const struct wire_config *config, const struct backend_ops *backend,
                        struct pollux_error *err)
{
    for (int i = 0; !has_hooks (config, backend) && i < config->group_count; i++)
        if (config->groups[i].min_nodes < config->groups[i].max_nodes)
            return fail (
                err, -EINVAL,
                "%s: group %s has %d to %d nodes, so polluxd needs the commands that order "
                "and return nodes: --grow and --shrink",
                config->cluster, config->groups[i].name, config->groups[i].min_nodes,
                config->groups[i].max_nodes);
    return 0;
}

/* Types that differ, of nodes and groups; a group without a type may get any. */
static int check_types (const struct wire_config *config, const struct policy *policy,
                        struct pollux_error *err)
{
    const char *first = config->node_count > 0 ? config->nodes[0].type : "";
    for (int i = 0; policy && policy->one_type && i < config->group_count; i++) {
        const char *type = config->groups[i].type;
        if (*first && *type && strcmp (first, type) != 0)
            return fail (
                err, -EINVAL,
                "policy %s knows one type of nodes, and there are %s and %s; use pollux or "
                "pollux-jct",
                policy->name, first, type);
        first = *type ? type : first;
    }
    return 0;
}

int daemon_read_groups (struct wire_config *config, const struct backend_ops *backend,
                        const struct policy *policy, struct pollux_error *err)
{
    struct node_group groups[NODE_GROUPS_LIMIT];
    int count = 0;
    if (!config->cluster) {
        /* The commands may stay: nodes of groups that were removed are still to be returned. */
        if (config->goal.kind != GOAL_FIXED)
            return fail (err, -EINVAL,
                         "goal is for groups of nodes: name their file with --cluster");
        return 0;
    }
    int rc = wire_node_groups_read (config->cluster, groups, &count, err);
    if (rc < 0)
        return rc;
    if (backend && !backend->groups)
        return fail (err, -EINVAL, "--cluster: backend %s cannot have groups of nodes",
                     backend->name);
    for (int i = 0; i < count; i++)
        if (groups[i].retired || groups[i].surplus_names > 0)
            return fail (
                err, -EINVAL,
                "%s: group %s: leave `%s` out, which is for journals: remove the group, or "
                "lower max, and polluxd returns its nodes",
                config->cluster, groups[i].name, groups[i].retired ? "retired" : "surplus_names");
    free (config->groups);
    config->groups = malloc ((size_t)count * sizeof (groups[0]));
    if (!config->groups)
        return fail (err, -ENOMEM, "no memory for %d groups of nodes", count);
    memcpy (config->groups, groups, (size_t)count * sizeof (groups[0]));
    config->group_count = count;
    rc = backend ? check_hooks (config, backend, err) : 0;
    if (rc == 0)
        rc = node_groups_check_prices (groups, count, &config->goal, err);
    return rc < 0 ? rc : check_types (config, policy, err);
}

/* ---- Declaring ---------------------------------------------------------------------------- */

/* What a group has besides texts. */
enum { GROUP_NUMBERS = 12 };

static void group_numbers (const struct node_group *group, double ret[GROUP_NUMBERS])
{
    const double numbers[GROUP_NUMBERS] = {
        group->slots_per_node,      group->nodes,     group->min_nodes,
        group->max_nodes,           group->boot_s,    group->boot_limit_s,
        group->price_per_node_hour, group->revocable, group->notice_s,
        group->revocations_per_day, group->retired,   group->surplus_names,
    };
    memcpy (ret, numbers, sizeof (numbers));
}

static bool same_group (const struct node_group *a, const struct node_group *b)
{
    double x[GROUP_NUMBERS], y[GROUP_NUMBERS];
    group_numbers (a, x);
    group_numbers (b, y);
    return strcmp (a->name, b->name) == 0 && strcmp (a->type, b->type) == 0 &&
           strcmp (a->names, b->names) == 0 && memcmp (x, y, sizeof (x)) == 0;
}

/* As texts: the journal has no more digits. */
static bool same_goal (const struct goal *a, const struct goal *b)
{
    char texts[2][GOAL_SIZE];
    goal_format (a, texts[0]);
    goal_format (b, texts[1]);
    return strcmp (texts[0], texts[1]) == 0;
}

static bool same_groups (const struct power *power, const struct event *event)
{
    bool same =
        power->count == event->groups.count && same_goal (&power->goal, &event->groups.goal);
    for (int i = 0; same && i < power->count; i++)
        same = same_group (&power->groups[i], &event->groups.list[i]);
    return same;
}

static bool has_nodes (const struct cluster *cluster, int group)
{
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->node_power[i].group == group && cluster->node_power[i].state != POWER_OFF)
            return true;
    return false;
}

/* Groups that are gone from the file and have nodes: these must not be forgotten. */
static int add_retired (const struct cluster *cluster, struct node_group *list, int *count,
                        struct pollux_error *err)
{
    const struct power *power = &cluster->power;
    for (int i = 0; i < power->count; i++) {
        if (node_groups_find (list, *count, power->groups[i].name) >= 0 || !has_nodes (cluster, i))
            continue;
        if (*count == NODE_GROUPS_LIMIT)
            return fail (
                err, -EINVAL,
                "group %s is not configured any more but has nodes, and there are %d groups "
                "already: keep it until its nodes are off",
                power->groups[i].name, NODE_GROUPS_LIMIT);
        struct node_group *group = &list[(*count)++];
        *group = power->groups[i];
        group->retired = true;
        group->min_nodes = group->nodes = 0;
    }
    return 0;
}

/* Nodes beyond a maximum that was lowered, which are not off: these must not be forgotten either. */
static void keep_surplus (const struct cluster *cluster, struct node_group *list, int count)
{
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->group < 0 || power->state == POWER_OFF)
            continue;
        const struct node_group *before = &cluster->power.groups[power->group];
        int found = node_groups_find (list, count, before->name);
        if (found < 0 || strcmp (list[found].names, before->names) != 0)
            continue;
        int surplus = node_group_index (before, cluster->nodes[i].name) + 1 - list[found].max_nodes;
        if (surplus > list[found].surplus_names)
            list[found].surplus_names = surplus;
    }
}

static int make_groups (const struct daemon *daemon, const struct wire_config *config,
                        struct node_group list[NODE_GROUPS_LIMIT], struct event *ret,
                        struct pollux_error *err)
{
    int count = config->group_count;
    if (count > 0)
        memcpy (list, config->groups, (size_t)count * sizeof (list[0]));
    keep_surplus (&daemon->loop.cluster, list, count);
    int rc = add_retired (&daemon->loop.cluster, list, &count, err);
    *ret = (struct event){.type = EVENT_GROUPS, .job = -1};
    ret->groups.list = list;
    ret->groups.count = count;
    ret->groups.goal = config->goal;
    return rc;
}

/* What the commands have begun they must end: without them a node of a fixed group comes and goes by itself, and would be off
 * although it exists.  The groups of the cluster are those before this configuration; at the start it is not known whether a
 * fixed one had commands. */
static int check_orders (const struct daemon *daemon, const struct wire_config *config,
                         struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    bool had = daemon->hooks && power_hooks_have_commands (daemon->hooks);
    for (int i = 0; !has_hooks (config, daemon->backend) && i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->group < 0 || power->state == POWER_OFF || power->state == POWER_UP)
            continue;
        const struct node_group *group = &cluster->power.groups[power->group];
        if (had || group->retired || group->min_nodes < group->max_nodes)
            return fail (
                err, -EINVAL,
                "node %s of group %s is %s: keep the commands --grow and --shrink until it "
                "is up or off",
                cluster->nodes[i].name, group->name, power_names[power->state]);
    }
    return 0;
}

int check_groups (const struct daemon *daemon, const struct wire_config *config,
                  struct pollux_error *err)
{
    struct node_group list[NODE_GROUPS_LIMIT];
    struct event event;
    int rc = check_orders (daemon, config, err);
    if (rc == 0)
        rc = make_groups (daemon, config, list, &event, err);
    event.at_us = daemon->loop.cluster.now_us;
    return rc < 0 ? rc : cluster_check (&daemon->loop.cluster, &event, err);
}

int declare_groups (struct daemon *daemon, const struct wire_config *config,
                    struct pollux_error *err)
{
    struct node_group list[NODE_GROUPS_LIMIT];
    struct event event;
    int rc = make_groups (daemon, config, list, &event, err);
    if (rc < 0 || same_groups (&daemon->loop.cluster.power, &event))
        return rc;
    return post (daemon, &event, err);
}

void warn_of_budget (const struct daemon *daemon, const struct wire_config *config)
{
    double least = INFINITY;
    for (int i = 0; i < config->group_count; i++)
        if (config->groups[i].max_nodes > 0)
            least = fmin (least, config->groups[i].price_per_node_hour);
    if (config->goal.kind == GOAL_BUDGET && config->goal.limit < least)
        say (&daemon->logger, LOG_WARNING,
             "the budget is below the price of every node: groups stay at their minimum",
             LOG_NUMBER ("budget", config->goal.limit), LOG_NUMBER ("least_price", least));
}

int drop_leftovers (struct daemon *daemon, struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    bool changed = false;
    for (int i = 0; i < cluster->power.count; i++)
        changed |= cluster->power.groups[i].surplus_names > 0 ||
                   (cluster->power.groups[i].retired && !has_nodes (cluster, i));
    return changed ? declare_groups (daemon, &daemon->config, err) : 0;
}
