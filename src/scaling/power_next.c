/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the wanted number of nodes of each group with the states of its nodes, and chooses the nodes to change. */
#include "scaling/power_next.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND_US = 1000000;

/* Unless the group says otherwise, a node may take three times as long as expected, and five minutes more. */
static int64_t boot_deadline_us (const struct node_group *group, int64_t now_us)
{
    double limit_s = group->boot_limit_s > 0 ? group->boot_limit_s : 3 * group->boot_s + 300;
    return now_us + (int64_t)(limit_s * (double)SECOND_US);
}

static int64_t retry_us (int failures, int64_t now_us)
{
    int64_t wait_s = 60;
    for (int i = 0; i < failures && wait_s < 3600; i++)
        wait_s *= 2;
    return now_us + (wait_s < 3600 ? wait_s : 3600) * SECOND_US;
}

static struct event power_event (const char *node, enum power_state state, int64_t now_us,
                                 int64_t deadline_us, const char *detail)
{
    struct event event = {
        .at_us = now_us,
        .type = EVENT_POWER,
        .job = -1,
        .power = {.state = state, .deadline_us = deadline_us},
    };
    snprintf (event.power.node, sizeof (event.power.node), "%s", node);
    snprintf (event.power.detail, sizeof (event.power.detail), "%s", detail);
    return event;
}

int64_t power_stop_us (const struct cluster *cluster, int node)
{
    double grace_s = 0;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (job->launch && job_pinned (job) && placement_on (job->placement, node) > 0)
            grace_s = job->launch->grace_s > grace_s ? job->launch->grace_s : grace_s;
    }
    return cluster->node_power[node].deadline_us - (int64_t)(grace_s * (double)SECOND_US);
}

/* 1: the state of this node changes by itself. */
static int next_of_node (const struct cluster *cluster, const int64_t *loads, int node,
                         int64_t now_us, struct event *ret)
{
    const struct node_power *power = &cluster->node_power[node];
    const char *name = cluster->nodes[node].name;
    bool late = power->deadline_us > 0 && power->deadline_us <= now_us;
    if (power->state == POWER_STARTING && late)
        *ret = power_event (name, POWER_FAILED, now_us,
                            retry_us (power_failures (cluster, node), now_us),
                            "it did not come up in time");
    else if (power->state == POWER_DRAINING && loads[node] == 0)
        *ret = power_event (name, POWER_STOPPING, now_us, 0, "");
    else if (power->state == POWER_DRAINING && power->deadline_us > 0 &&
             power_stop_us (cluster, node) <= now_us)
        *ret = power_event (name, POWER_STOPPING, now_us, late ? 0 : power->deadline_us, "");
    else
        return 0;
    return 1;
}

void power_loads (const struct job *const *jobs, int job_count, int node_count, int64_t *ret)
{
    memset (ret, 0, (size_t)node_count * sizeof (ret[0]));
    for (int i = 0; i < job_count; i++) {
        struct placement placement = jobs[i]->placement;
        bool pinned = job_pinned (jobs[i]);
        for (int j = 0; j < placement.count; j++)
            if (placement.shares[j].node < node_count)
                ret[placement.shares[j].node] +=
                    placement.shares[j].replicas + (pinned ? POLLUX_REPLICAS_LIMIT : 0);
    }
}

int power_least_loaded (const struct node_power *node_power, int node_count, const int64_t *loads,
                        int group)
{
    int best = -1;
    for (int i = 0; i < node_count; i++)
        if (node_power[i].group == group && node_power[i].state == POWER_UP &&
            (best < 0 || loads[i] <= loads[best]))
            best = i;
    return best;
}

/* A group has more nodes than wanted. */
static int next_return (const struct cluster *cluster, const int64_t *loads, int group,
                        int64_t now_us, struct event *ret)
{
    for (int i = cluster->node_count - 1; i >= 0; i--)
        if (cluster->node_power[i].group == group &&
            cluster->node_power[i].state == POWER_STARTING) {
            *ret = power_event (cluster->nodes[i].name, POWER_STOPPING, now_us, 0,
                                "not needed any more");
            return 1;
        }
    int node = power_least_loaded (cluster->node_power, cluster->node_count, loads, group);
    if (node < 0)
        return 0;
    *ret = power_event (cluster->nodes[node].name, POWER_DRAINING, now_us, 0, "");
    return 1;
}

/* A group has fewer nodes than wanted. */
static int next_order (const struct cluster *cluster, int group, int64_t now_us, struct event *ret)
{
    const struct node_group *nodes = &cluster->power.groups[group];
    char name[NAME_SIZE] = "";
    int known = 0;
    for (int i = 0; i < cluster->node_count && !name[0]; i++) {
        known += cluster->node_power[i].group == group;
        if (cluster->node_power[i].group == group && cluster->node_power[i].state == POWER_OFF &&
            node_group_index (nodes, cluster->nodes[i].name) < nodes->max_nodes)
            memcpy (name, cluster->nodes[i].name, sizeof (name));
    }
    /* Names are mostly used in their order: those after as many as are known come first. */
    for (int i = 0; !name[0] && i < nodes->max_nodes; i++) {
        node_group_node (nodes, (known + i) % nodes->max_nodes, name);
        if (cluster_find_node (cluster, name) >= 0)
            name[0] = '\0';
    }
    if (!name[0] || (cluster->node_count == NODES_LIMIT && cluster_find_node (cluster, name) < 0))
        return 0;
    *ret = power_event (name, POWER_STARTING, now_us, boot_deadline_us (nodes, now_us), "");
    return 1;
}

static int find_next (const struct cluster *cluster, const int64_t *loads, unsigned held,
                      int64_t now_us, struct event *ret)
{
    _Static_assert(NODE_GROUPS_LIMIT <= 32, "a bit each");
    for (int i = 0; i < cluster->node_count; i++)
        if (next_of_node (cluster, loads, i, now_us, ret) > 0)
            return 1;
    for (int i = 0; i < cluster->power.count; i++) {
        int ordered = power_ordered (cluster, i), wanted = cluster->power.wanted[i], found = 0;
        if (ordered > wanted)
            found = next_return (cluster, loads, i, now_us, ret);
        else if (ordered < wanted && !(held >> i & 1) && !power_blocked (cluster, i, now_us) &&
                 power_payable (cluster, i))
            found = next_order (cluster, i, now_us, ret);
        if (found)
            return found;
    }
    return 0;
}

int power_next (const struct cluster *cluster, int64_t now_us, struct event *ret)
{
    return power_next_except (cluster, 0, now_us, ret);
}

int power_next_except (const struct cluster *cluster, unsigned held, int64_t now_us,
                       struct event *ret)
{
    if (cluster->power.count == 0)
        return 0;
    int64_t *loads = malloc ((size_t)(cluster->node_count + 1) * sizeof (loads[0]));
    if (!loads)
        return -ENOMEM;
    power_loads ((const struct job *const *)cluster->live.jobs, cluster->live.count,
                 cluster->node_count, loads);
    int found = find_next (cluster, loads, held, now_us, ret);
    free (loads);
    return found;
}

int64_t power_due_us (const struct cluster *cluster)
{
    int64_t due_us = INT64_MAX;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        bool waits = power->state == POWER_STARTING || power->state == POWER_DRAINING ||
                     power->state == POWER_FAILED;
        if (!waits || power->deadline_us == 0)
            continue;
        int64_t at_us =
            power->state == POWER_DRAINING ? power_stop_us (cluster, i) : power->deadline_us;
        due_us = at_us < due_us ? at_us : due_us;
    }
    return due_us;
}
