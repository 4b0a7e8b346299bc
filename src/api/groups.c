/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of nodes: how many nodes they have and should have, why, and what they cost.
 */
#include "api/api_private.h"
#include "cluster/costs.h"

/* Add a value, which is consumed, to the object. */
static bool put (json_t *object, const char *key, json_t *value)
{
    return json_object_set_new (object, key, value) == 0;
}

/* When a group that is blocked orders again: all orders that have failed are past their deadline.  -1: it is not blocked. */
static int64_t retry_us (const struct cluster *cluster, int group)
{
    int64_t until_us = -1;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->group == group && power->state == POWER_FAILED && power->deadline_us > until_us)
            until_us = power->deadline_us;
    }
    return until_us;
}

/* Nodes of a group by state.  Those that were never ordered are off, too. */
static json_t *describe_states (const struct cluster *cluster, int group)
{
    int counts[POWER_STATES] = {0}, present = 0;
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->node_power[i].group == group)
            counts[cluster->node_power[i].state]++;
    for (int state = POWER_STARTING; state < POWER_STATES; state++)
        present += counts[state];
    int most = cluster->power.groups[group].max_nodes;
    counts[POWER_OFF] = most > present ? most - present : 0;
    json_t *object = json_object ();
    for (int state = POWER_OFF; object && state < POWER_STATES; state++)
        if (!put (object, power_names[state], json_integer (counts[state]))) {
            json_decref (object);
            object = NULL;
        }
    return object;
}

static json_t *describe_member (const struct cluster *cluster, int node)
{
    const struct node_power *power = &cluster->node_power[node];
    return json_pack ("{s:s, s:s, s:i, s:o, s:o, s:i}", "name", cluster->nodes[node].name, "state",
                      power_names[power->state], "slots", cluster->nodes[node].slots, "since_at",
                      describe_time (power->since_us), "deadline_at",
                      describe_time (power->deadline_us > 0 ? power->deadline_us : -1), "failures",
                      power->failures);
}

/* The nodes that are not off. */
static json_t *describe_members (const struct cluster *cluster, int group)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->group == group && power->state != POWER_OFF &&
            json_array_append_new (array, describe_member (cluster, i)) < 0) {
            json_decref (array);
            array = NULL;
        }
    }
    return array;
}

/* As it is configured: the fields of the cluster file. */
static json_t *describe_configured (const struct node_group *group)
{
    return json_pack ("{s:s, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:b, s:o, s:o, s:b}", "name",
                      group->name, "type", describe_text (group->type), "names",
                      describe_text (group->names), "gpus_per_node", group->slots_per_node, "min",
                      group->min_nodes, "max", group->max_nodes, "boot_s",
                      describe_number (group->boot_s), "price_per_node_hour",
                      describe_number (group->price_per_node_hour), "revocable", group->revocable,
                      "notice_s", describe_number (group->notice_s), "revocations_per_day",
                      describe_number (group->revocations_per_day), "retired", group->retired);
}

static json_t *describe_group (const struct cluster *cluster, int group, bool nodes)
{
    json_t *object = describe_configured (&cluster->power.groups[group]);
    json_t *now =
        json_pack ("{s:i, s:i, s:o, s:o, s:o}", "size", power_ordered (cluster, group), "wanted",
                   cluster->power.wanted[group], "states", describe_states (cluster, group),
                   "price_per_hour", describe_number (costs_of_nodes_hour (cluster, group)),
                   "retry_at", describe_time (retry_us (cluster, group)));
    bool whole = object && now && json_object_update (object, now) == 0 &&
                 (!nodes || put (object, "nodes", describe_members (cluster, group)));
    json_decref (now);
    if (whole)
        return object;
    json_decref (object);
    return NULL;
}

/* The mean utility of the rounds since the size changed; null: there was none. */
static json_t *describe_utility (const struct power *power)
{
    double sum = 0;
    for (int i = 0; i < power->utility_count; i++)
        sum += power->utilities[i];
    return power->utility_count > 0 ? json_real (sum / power->utility_count) : json_null ();
}

json_t *describe_groups (const struct present *present, bool nodes)
{
    const struct cluster *cluster = present->cluster;
    const struct power *power = &cluster->power;
    char goal[GOAL_SIZE];
    json_t *groups = json_array ();
    bool whole = groups != NULL;
    for (int i = 0; whole && i < power->count; i++)
        whole = json_array_append_new (groups, describe_group (cluster, i, nodes)) == 0;
    if (!whole) {
        json_decref (groups);
        return NULL;
    }
    goal_format (&power->goal, goal);
    return json_pack ("{s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "goal", goal,
                      "utility", describe_utility (power), "changing", power_in_flight (cluster),
                      "priced", costs_known (cluster), "reason", describe_text (power->reason),
                      "resized_at", describe_time (power->resized_us > 0 ? power->resized_us : -1),
                      "price_per_hour", describe_number (costs_of_nodes_hour (cluster, -1)), "cost",
                      describe_number (costs_of_nodes (cluster, present->now_us)), "boots",
                      (json_int_t)power->boots, "now_at", describe_time (present->now_us), "groups",
                      groups);
}

void api_list_groups (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    api_reply (api, request, 200, describe_groups (&present, true));
}
