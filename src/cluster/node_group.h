/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes that are alike, which can be ordered and returned while jobs run.
 *
 * Node i of a group has a name that follows from the group's: NAME-i, or, with `names`, such as gpu[001-032], gpu001,
 * gpu002 and so on.  So the group of a node follows from its name.
 */
#ifndef CLUSTER_NODE_GROUP_H
#define CLUSTER_NODE_GROUP_H

#include <stdint.h>

#include "cluster/goal.h"
#include "cluster/node.h"

enum { NODE_GROUPS_LIMIT = 16 };

struct node_group {
    char name[NAME_SIZE];  /* the type, if the owner gives no other */
    char type[NAME_SIZE];  /* "": not given */
    char names[NAME_SIZE]; /* of its nodes, as PREFIX[FIRST-LAST]; "": NAME-0, NAME-1 and so on */
    int slots_per_node;
    int nodes;                /* at the start */
    int min_nodes, max_nodes; /* min_nodes <= nodes <= max_nodes */
    double boot_s;            /* expected time from the order of a node until it takes replicas */
    double
        boot_limit_s; /* an order that takes longer has failed; 0: 3 x boot_s and five minutes more */
    double price_per_node_hour; /* from the order of a node that comes until its stop */
    bool revocable;             /* the provider may take nodes back, with a notice */
    double notice_s;            /* of such a notice */
    double revocations_per_day; /* expected, of one node */
    int surplus_names; /* names after those of max_nodes that belong to it: of nodes that are not off since max_nodes was lowered */
    bool retired; /* not configured any more: its nodes are emptied and returned; min_nodes 0 */
};

/* The most nodes that the group may have now. */
int node_group_most (const struct node_group *group);

/* The name of node i, 0..max_nodes-1. */
void node_group_node (const struct node_group *group, int i, char ret[NAME_SIZE]);

/* The number i of a node of that name, from max_nodes on for surplus names; -1: it belongs to no node of the group. */
int node_group_index (const struct node_group *group, const char *name);

/* Whether a group is legal.  -EINVAL: *ret_field is the field that is wrong, as in a cluster file; NULL is fine. */
int node_group_check (const struct node_group *group, const char **ret_field,
                      struct pollux_error *err);

/* True if a node could be in both. */
bool node_groups_overlap (const struct node_group *a, const struct node_group *b);

/* The expected revocations of one node, per second. */
double node_group_revocations (const struct node_group *group);

/* The group in a list of which a node of that name is; -1: none. */
int node_groups_find_node (const struct node_group *groups, int count, const char *name);

/* The group of that name; -1: none. */
int node_groups_find (const struct node_group *groups, int count, const char *name);

/* -EINVAL: some groups have a type, and some have none. */
int node_groups_check_types (const struct node_group *groups, int count, struct pollux_error *err);

/* -EINVAL: the goal needs a price of each group, and one has none. */
int node_groups_check_prices (const struct node_group *groups, int count, const struct goal *goal,
                              struct pollux_error *err);

#endif
