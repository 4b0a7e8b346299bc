/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes of the groups exist, how many should, and what they cost: the fold of GROUPS, SIZE and POWER, and of NODE
 * for nodes of groups.  Part of the cluster.
 */
#ifndef CLUSTER_POWER_H
#define CLUSTER_POWER_H

#include "cluster/job.h"
#include "cluster/ledger.h"
#include "cluster/node_group.h"

/* Whether a node of a group exists.
 *
 *     off --> starting --> up --> draining --> stopping --> off
 *                 |                               ^
 *                 +--> failed --> off             |
 *                 +-------- not needed any more --+
 *
 * A NODE event with slots makes a node `up`, from every state before; one without slots makes it `stopping`. */
enum power_state {
    POWER_NONE,     /* it belongs to no group */
    POWER_OFF,      /* it does not exist */
    POWER_STARTING, /* it is ordered; if it has not come at its deadline, the order has failed */
    POWER_UP,       /* it takes replicas */
    POWER_DRAINING, /* it takes no more replicas; with a deadline: it is taken away then */
    POWER_STOPPING, /* no replica is left; it is being returned */
    POWER_FAILED,   /* it did not come; it is returned, and not ordered again before its deadline */
};
enum { POWER_STATES = POWER_FAILED + 1 };
extern const char *const power_names[POWER_STATES];

/* Of one node. */
struct node_power {
    int group; /* -1: none */
    enum power_state state;
    int64_t since_us;    /* since when it is in this state */
    int64_t deadline_us; /* of the state; 0: none */
    int64_t billed_us;   /* it is in the ledger up to then; before it comes: when it was ordered */
    bool came;           /* it has come since its order: it is billed until it is off */
    int failures; /* orders of its group that had failed in succession when its own failed; 0: it did not */
    int account; /* hint of ledger_add */
};

/* Rounds over which a band looks at the mean utility. */
enum { UTILITY_ROUNDS = 15 };

/* The groups.  A field that is added here or to struct node_power must be added to snapshots, too (wire/snapshot.c). */
struct power {
    struct node_group groups[NODE_GROUPS_LIMIT];
    int count;
    struct goal goal;
    int wanted[NODE_GROUPS_LIMIT]; /* nodes by group, as of the last SIZE */
    int64_t resized_us;            /* when that changed last; 0: never */
    /* By group: when so many nodes were first ordered or up since `wanted` grew last; 0: they have not been.  Nodes that are
     * ordered later replace others. */
    int64_t complete_us[NODE_GROUPS_LIMIT];
    char reason[DETAIL_SIZE]; /* of that change */
    /* The utilities of the latest rounds since then, oldest first. */
    double utilities[UTILITY_ROUNDS];
    int utility_count;
    int64_t boots; /* nodes that have come up */
};

struct cluster;
struct event;

/* Check and apply events; cluster_check and cluster_apply_checked call them. */
int power_check_groups (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err);
int power_check_size (const struct cluster *cluster, const struct event *event,
                      struct pollux_error *err);
int power_check_change (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err);
int power_apply_groups (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err);
int power_apply_size (struct cluster *cluster, const struct event *event, struct pollux_error *err);
int power_apply_change (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err);

/* A NODE event has changed a node, or added it: set its state, and whether it takes replicas.  A node that nobody ordered
 * raises the wanted number, up to the maximum of its group. */
void power_take_node (struct cluster *cluster, int node, int64_t at_us);

/* Bring the ledger up to date for one node; for all.  Before the price of a node may change, also for the jobs that hold slots of
 * it (cluster_charge_jobs). */
int power_charge (struct cluster *cluster, int node, int64_t at_us, struct pollux_error *err);
int power_charge_all (struct cluster *cluster, int64_t at_us, struct pollux_error *err);

/* The price of a slot of a node, per second; 0 for nodes without a group and for those that are not billed.  And that of all
 * slots of a placement. */
double power_slot_price (const struct cluster *cluster, int node);
double power_placement_price (const struct cluster *cluster, struct placement placement);

/* True if the ledger counts the node now. */
bool power_is_billed (const struct cluster *cluster, int node);

/* Nodes of a group that are ordered or up. */
int power_ordered (const struct cluster *cluster, int group);

/* True while an order of the group has failed and is not to be repeated yet: nothing is ordered there.  If the failed node
 * cannot be returned, the group is free again at its deadline: others can be ordered. */
bool power_blocked (const struct cluster *cluster, int group, int64_t now_us);

/* Orders of a node's group that had failed in succession, since a node of it came, when this node was ordered.  So orders that were made
 * together and fail together count once. */
int power_failures (const struct cluster *cluster, int node);

/* True if the budget, if there is one, pays a node more of the group beside all that are paid or ordered, also those that are
 * leaving; or if the minimum of the group needs it. */
bool power_payable (const struct cluster *cluster, int group);

/* The size of the cluster does not wait for a drain or a return that takes longer than ten minutes. */
#define POWER_RETURN_US ((int64_t)600 * 1000000)

/* True while a change of size is not complete: a node that it ordered starts, a node stops, or a group has more nodes than wanted, or
 * fewer although it is not blocked and a node can be ordered and paid.  Nodes that a provider takes away, those that are ordered in
 * their place, and drains and returns that take too long, do not count. */
bool power_in_flight (const struct cluster *cluster);

/* The same three questions for the nodes of a view. */
int node_power_ordered (const struct node_power *nodes, int count, int group);
bool node_power_blocked (const struct node_power *nodes, int count, int group, int64_t now_us);
bool node_power_in_flight (const struct power *power, const struct node_power *nodes, int count,
                           int64_t now_us);

#endif
