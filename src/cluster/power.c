/* SPDX-License-Identifier: Apache-2.0 */
/* Applies GROUPS, SIZE, POWER and NODE to the states and the costs of nodes. */
#include "cluster/power.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cluster/cluster.h"

const char *const power_names[] = {"none",     "off",      "starting", "up",
                                   "draining", "stopping", "failed"};
_Static_assert(sizeof (power_names) / sizeof (power_names[0]) == POWER_STATES, "a name each");

/* ---- The ledger --------------------------------------------------------------------------- */

double power_slot_price (const struct cluster *cluster, int node)
{
    const struct node_power *power = &cluster->node_power[node];
    if (power->group < 0 || !power->came)
        return 0;
    /* If the node has other slots than its group says: all slots together cost what the node costs. */
    const struct node_group *group = &cluster->power.groups[power->group];
    int slots = cluster->nodes[node].slots;
    return group->price_per_node_hour / 3600 /
           (slots > group->slots_per_node ? slots : group->slots_per_node);
}

double power_placement_price (const struct cluster *cluster, struct placement placement)
{
    double price = 0;
    for (int i = 0; i < placement.count; i++)
        price +=
            placement.shares[i].replicas * power_slot_price (cluster, placement.shares[i].node);
    return price;
}

/* An order is charged when its node comes, from its beginning; one that fails or is cancelled never is. */
bool power_is_billed (const struct cluster *cluster, int node)
{
    const struct node_power *power = &cluster->node_power[node];
    return power->state == POWER_NONE ? cluster->nodes[node].slots > 0 : power->came;
}

/* True from the order of a node until it comes. */
static bool is_awaited (const struct node_power *power)
{
    return !power->came && (power->state == POWER_STARTING || power->state == POWER_STOPPING);
}

int power_charge (struct cluster *cluster, int node, int64_t at_us, struct pollux_error *err)
{
    struct node_power *power = &cluster->node_power[node];
    double price =
        power->group < 0 ? 0 : cluster->power.groups[power->group].price_per_node_hour / 3600;
    if (power_is_billed (cluster, node) &&
        ledger_add (&cluster->ledger, power->billed_us, at_us, NULL, cluster->nodes[node].slots,
                    price, &power->account) < 0)
        return fail (err, -ENOMEM, "no memory for the costs of node %s", cluster->nodes[node].name);
    if (!is_awaited (power))
        power->billed_us = at_us;
    return 0;
}

int power_charge_all (struct cluster *cluster, int64_t at_us, struct pollux_error *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < cluster->node_count; i++)
        rc = power_charge (cluster, i, at_us, err);
    return rc;
}

/* ---- States ------------------------------------------------------------------------------- */

static void set_state (struct node_power *power, enum power_state state, int64_t at_us,
                       int64_t deadline_us)
{
    power->state = state;
    power->since_us = at_us;
    power->deadline_us = deadline_us;
}

/* True if a provider takes the node away. */
static bool is_leaving (const struct node_power *power)
{
    bool goes = power->state == POWER_DRAINING || power->state == POWER_STOPPING;
    return goes && power->deadline_us > 0;
}

int node_power_ordered (const struct node_power *nodes, int count, int group)
{
    int ordered = 0;
    for (int i = 0; i < count; i++)
        ordered += nodes[i].group == group &&
                   (nodes[i].state == POWER_STARTING || nodes[i].state == POWER_UP);
    return ordered;
}

bool node_power_blocked (const struct node_power *nodes, int count, int group, int64_t now_us)
{
    for (int i = 0; i < count; i++)
        if (nodes[i].group == group && nodes[i].state == POWER_FAILED &&
            (nodes[i].deadline_us == 0 || now_us < nodes[i].deadline_us))
            return true;
    return false;
}

/* True if a node that starts was ordered because its group has to grow, not in the place of another one. */
static bool is_growth (const struct power *power, const struct node_power *node)
{
    int64_t complete_us = power->complete_us[node->group];
    return node->since_us >= power->resized_us &&
           (complete_us == 0 || node->since_us <= complete_us);
}

/* True if the state of one node shows that a change is not complete. */
static bool is_changing (const struct power *power, const struct node_power *node, int64_t now_us)
{
    if (node->state == POWER_STARTING)
        return is_growth (power, node);
    bool goes = node->state == POWER_DRAINING || node->state == POWER_STOPPING;
    return goes && !is_leaving (node) && now_us - node->since_us < POWER_RETURN_US;
}

/* True if a node of the group is off or has never been there: it can be ordered. */
static bool has_room (const struct node_group *group, const struct node_power *nodes, int count,
                      int index)
{
    int present = 0;
    for (int i = 0; i < count; i++)
        present += nodes[i].group == index && nodes[i].state != POWER_OFF;
    return present < group->max_nodes;
}

static bool is_payable (const struct power *power, const struct node_power *nodes, int count,
                        int group)
{
    double price = power->groups[group].price_per_node_hour;
    if (power->goal.kind != GOAL_BUDGET ||
        node_power_ordered (nodes, count, group) < power->groups[group].min_nodes)
        return true;
    for (int i = 0; i < count; i++)
        if (nodes[i].group >= 0 && (nodes[i].came || nodes[i].state == POWER_STARTING))
            price += power->groups[nodes[i].group].price_per_node_hour;
    return price <= power->goal.limit * (1 + 1e-9); /* the sum is rounded */
}

bool node_power_in_flight (const struct power *power, const struct node_power *nodes, int count,
                           int64_t now_us)
{
    for (int i = 0; i < count; i++)
        if (is_changing (power, &nodes[i], now_us))
            return true;
    for (int i = 0; i < power->count; i++) {
        int ordered = node_power_ordered (nodes, count, i);
        if (ordered > power->wanted[i] ||
            (ordered < power->wanted[i] && !node_power_blocked (nodes, count, i, now_us) &&
             has_room (&power->groups[i], nodes, count, i) && is_payable (power, nodes, count, i)))
            return true;
    }
    return false;
}

int power_ordered (const struct cluster *cluster, int group)
{
    return node_power_ordered (cluster->node_power, cluster->node_count, group);
}

bool power_blocked (const struct cluster *cluster, int group, int64_t now_us)
{
    return node_power_blocked (cluster->node_power, cluster->node_count, group, now_us);
}

int power_failures (const struct cluster *cluster, int node)
{
    const struct node_power *order = &cluster->node_power[node];
    int most = 0;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        bool over = power->state == POWER_FAILED || power->state == POWER_OFF;
        bool since = i != node && over && power->since_us >= order->since_us;
        int known = power->failures - since;
        if (power->group == order->group && known > most)
            most = known;
    }
    return most;
}

bool power_payable (const struct cluster *cluster, int group)
{
    return is_payable (&cluster->power, cluster->node_power, cluster->node_count, group);
}

bool power_in_flight (const struct cluster *cluster)
{
    return node_power_in_flight (&cluster->power, cluster->node_power, cluster->node_count,
                                 cluster->now_us);
}

/* A group has got a node, or another wanted number. */
static void note_complete (struct cluster *cluster, int group, int64_t at_us)
{
    struct power *power = &cluster->power;
    if (power->complete_us[group] == 0 && power_ordered (cluster, group) >= power->wanted[group])
        power->complete_us[group] = at_us;
}

/* A node has come that nobody ordered: it is wanted now, up to the group's maximum.  If the group is to have fewer nodes, it
 * has one more than that. */
static void adopt (struct cluster *cluster, int group)
{
    int *wanted = &cluster->power.wanted[group];
    if (power_ordered (cluster, group) > *wanted &&
        *wanted < node_group_most (&cluster->power.groups[group]))
        ++*wanted;
}

/* A node of the group has come: the next failure is the first one again.  A failed node keeps one. */
static void forget_failures (struct cluster *cluster, int group)
{
    for (int i = 0; i < cluster->node_count; i++) {
        struct node_power *power = &cluster->node_power[i];
        if (power->group == group)
            power->failures = power->state == POWER_FAILED;
    }
}

void power_take_node (struct cluster *cluster, int index, int64_t at_us)
{
    struct node_power *power = &cluster->node_power[index];
    struct node *node = &cluster->nodes[index];
    if (power->group < 0)
        return;
    const struct node_group *group = &cluster->power.groups[power->group];
    node->revocations_per_s = node_group_revocations (group);
    if (!node->type[0])
        memcpy (node->type, group->type, sizeof (node->type));
    bool absent = power->state == POWER_OFF || power->state == POWER_FAILED;
    if (node->slots > 0)
        power->came = true; /* also if its order was cancelled: somebody has to pay for it */
    if (node->slots > 0 && (absent || power->state == POWER_STARTING)) {
        set_state (power, POWER_UP, at_us, 0);
        forget_failures (cluster, power->group);
        cluster->power.boots++;
        if (absent)
            adopt (cluster, power->group);
        note_complete (cluster, power->group, at_us);
    } else if (node->slots == 0 && (power->state == POWER_UP || power->state == POWER_DRAINING)) {
        set_state (power, POWER_STOPPING, at_us, 0);
    }
    node->available &= power->state == POWER_UP;
}

/* ---- GROUPS ------------------------------------------------------------------------------- */

int power_check_groups (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    const struct node_group *list = event->groups.list;
    int count = event->groups.count;
    for (int i = 0; i < count; i++) {
        struct pollux_error why;
        if (node_group_check (&list[i], NULL, &why) < 0)
            return fail (err, -EINVAL, "group %s: %s", list[i].name, why.text);
        if (node_groups_find (list, i, list[i].name) >= 0)
            return fail (err, -EINVAL, "two groups with the name %s", list[i].name);
        for (int j = 0; j < i; j++)
            if (node_groups_overlap (&list[i], &list[j]))
                return fail (err, -EINVAL, "groups %s and %s have nodes of the same names",
                             list[j].name, list[i].name);
    }
    /* What was ordered must not be forgotten. */
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->group >= 0 && power->state != POWER_OFF &&
            node_groups_find_node (list, count, cluster->nodes[i].name) < 0)
            return fail (
                err, -EINVAL,
                "node %s of group %s is %s: the names of a group can change when its nodes "
                "are off; remove the group first, or give it another name",
                cluster->nodes[i].name, cluster->power.groups[power->group].name,
                power_names[power->state]);
    }
    return 0;
}

static int clamp (int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

int power_apply_groups (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    struct power *power = &cluster->power;
    int rc = power_charge_all (cluster, event->at_us, err); /* with the prices before */
    if (rc == 0)
        rc = cluster_charge_jobs (cluster, -1, event->at_us, err);
    if (rc < 0)
        return rc;
    int wanted[NODE_GROUPS_LIMIT] = {0};
    int64_t complete_us[NODE_GROUPS_LIMIT] = {0};
    for (int i = 0; i < event->groups.count; i++) {
        const struct node_group *group = &event->groups.list[i];
        int known = node_groups_find (power->groups, power->count, group->name);
        /* A fixed size is that of the file. */
        bool keep = known >= 0 && event->groups.goal.kind != GOAL_FIXED;
        wanted[i] = clamp (keep ? power->wanted[known] : group->nodes, group->min_nodes,
                           node_group_most (group));
        if (known >= 0 && wanted[i] <= power->wanted[known])
            complete_us[i] = power->complete_us[known];
    }
    for (int i = 0; i < event->groups.count; i++)
        power->groups[i] = event->groups.list[i];
    memcpy (power->wanted, wanted, sizeof (wanted));
    memcpy (power->complete_us, complete_us, sizeof (complete_us));
    power->count = event->groups.count;
    power->goal = event->groups.goal;
    power->utility_count = 0;
    int joined[NODE_GROUPS_LIMIT] = {0};
    for (int i = 0; i < cluster->node_count; i++) {
        struct node_power *node = &cluster->node_power[i];
        int before = node->group;
        node->group = node_groups_find_node (power->groups, power->count, cluster->nodes[i].name);
        cluster->nodes[i].revocations_per_s =
            node->group < 0 ? 0 : node_group_revocations (&power->groups[node->group]);
        if ((before < 0) == (node->group < 0))
            continue;
        /* It joins a group, or, if it is off, leaves one. */
        node->came = node->group >= 0 && cluster->nodes[i].slots > 0;
        node->failures = 0;
        set_state (node,
                   node->group < 0 ? POWER_NONE
                   : node->came    ? POWER_UP
                                   : POWER_OFF,
                   event->at_us, 0);
        cluster->nodes[i].available &= node->state != POWER_OFF;
        if (node->came)
            joined[node->group]++;
    }
    /* When all nodes have their new groups, which adopt counts. */
    for (int i = 0; i < power->count; i++) {
        for (; joined[i] > 0; joined[i]--)
            adopt (cluster, i);
        note_complete (cluster, i, event->at_us);
    }
    return 0;
}

/* ---- SIZE --------------------------------------------------------------------------------- */

int power_check_size (const struct cluster *cluster, const struct event *event,
                      struct pollux_error *err)
{
    for (int i = 0; event->size.resize && i < cluster->power.count; i++) {
        const struct node_group *group = &cluster->power.groups[i];
        if (event->size.nodes[i] < group->min_nodes ||
            event->size.nodes[i] > node_group_most (group))
            return fail (err, -EINVAL, "SIZE of %d nodes for group %s, which has %d to %d",
                         event->size.nodes[i], group->name, group->min_nodes,
                         node_group_most (group));
    }
    return 0;
}

int power_apply_size (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    (void)err;
    struct power *power = &cluster->power;
    if (!isnan (event->size.utility)) {
        bool full = power->utility_count == UTILITY_ROUNDS;
        if (full)
            memmove (power->utilities, power->utilities + 1,
                     (UTILITY_ROUNDS - 1) * sizeof (power->utilities[0]));
        power->utility_count += !full;
        power->utilities[power->utility_count - 1] = event->size.utility;
    }
    if (!event->size.resize)
        return 0;
    for (int i = 0; i < power->count; i++) {
        if (event->size.nodes[i] > power->wanted[i])
            power->complete_us[i] = 0;
        power->wanted[i] = event->size.nodes[i];
        note_complete (cluster, i, event->at_us);
    }
    memcpy (power->reason, event->size.reason, sizeof (power->reason));
    power->resized_us = event->at_us;
    power->utility_count = 0;
    return 0;
}

/* ---- POWER -------------------------------------------------------------------------------- */

/* Which states may follow, by state; UP follows from NODE only. */
static bool may_follow (enum power_state from, enum power_state to)
{
    static const unsigned next[POWER_STATES] = {
        [POWER_OFF] = 1u << POWER_STARTING,
        [POWER_STARTING] = 1u << POWER_STOPPING | 1u << POWER_FAILED,
        [POWER_UP] = 1u << POWER_DRAINING | 1u << POWER_STOPPING,
        /* A notice may come for a node that is drained already. */
        [POWER_DRAINING] = 1u << POWER_DRAINING | 1u << POWER_STOPPING,
        [POWER_STOPPING] = 1u << POWER_STOPPING | 1u << POWER_OFF,
        [POWER_FAILED] = 1u << POWER_OFF,
    };
    return next[from] >> to & 1;
}

int power_check_change (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    const char *name = event->power.node;
    int node = cluster_find_node (cluster, name);
    int group = node_groups_find_node (cluster->power.groups, cluster->power.count, name);
    enum power_state from = node < 0 ? POWER_OFF : cluster->node_power[node].state;
    if (group < 0)
        return fail (err, -EINVAL, "POWER of node %s, which belongs to no group", name);
    if (!may_follow (from, event->power.state))
        return fail (err, -EINVAL, "POWER of node %s: %s does not follow %s", name,
                     power_names[event->power.state], power_names[from]);
    if (event->power.state == POWER_STARTING && cluster->power.groups[group].retired)
        return fail (err, -EINVAL, "POWER of node %s: its group %s is not configured any more",
                     name, cluster->power.groups[group].name);
    if (from == POWER_STOPPING && event->power.state == POWER_STOPPING &&
        !(is_leaving (&cluster->node_power[node]) && event->power.deadline_us > 0 &&
          event->power.deadline_us < cluster->node_power[node].deadline_us))
        return fail (err, -EINVAL,
                     "POWER of node %s: it is stopping; expected an earlier deadline than before",
                     name);
    if (from == POWER_DRAINING && event->power.state == POWER_DRAINING &&
        event->power.deadline_us == 0 && is_leaving (&cluster->node_power[node]))
        return fail (err, -EINVAL,
                     "POWER of node %s: it is taken away at its deadline; expected another one",
                     name);
    if (node < 0 && cluster->node_count == NODES_LIMIT)
        return fail (err, -EINVAL, "more than %d nodes", NODES_LIMIT);
    return 0;
}

int power_apply_change (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    enum power_state state = event->power.state;
    int index = cluster_add_node (cluster, event->power.node, event->at_us, err);
    if (index < 0)
        return index;
    struct node_power *power = &cluster->node_power[index];
    struct node *node = &cluster->nodes[index];
    int rc = power_charge (cluster, index, event->at_us, err);
    if (rc == 0)
        rc = cluster_charge_jobs (cluster, index, event->at_us, err);
    if (rc < 0)
        return rc;
    if (state == POWER_STARTING) {
        const struct node_group *group = &cluster->power.groups[power->group];
        memcpy (node->type, group->type, sizeof (node->type));
        power->billed_us = event->at_us;
    } else if (state == POWER_FAILED) {
        /* It is ordered again, here or elsewhere, when the next SIZE says so; with a fixed size when the group is not blocked. */
        int *wanted = &cluster->power.wanted[power->group];
        power->failures = power_failures (cluster, index) + 1;
        *wanted -= cluster->power.goal.kind != GOAL_FIXED &&
                   *wanted > cluster->power.groups[power->group].min_nodes;
    }
    set_state (power, state, event->at_us, event->power.deadline_us);
    if (state == POWER_STARTING || state == POWER_FAILED)
        note_complete (cluster, power->group, event->at_us);
    node->available = false; /* no POWER makes a node take replicas: NODE does */
    if (state == POWER_OFF) {
        node->slots = 0;
        power->came = false;
        power->billed_us = event->at_us;
    }
    return 0;
}
