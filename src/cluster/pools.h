/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a cluster that are alike.  A job runs on nodes of one type at a time: its replicas wait for each
 * other in every update, so the slowest one sets the pace.  Nodes of one type that the provider takes back at
 * different rates are different pools: a job that uses any of the more frequent ones restarts as often as these. */
#ifndef CLUSTER_POOLS_H
#define CLUSTER_POOLS_H

#include "base/arena.h"
#include "cluster/node.h"
#include "model/placement.h"

struct pool {
    const char *type;         /* borrowed from a node */
    double revocations_per_s; /* of each node, expected */
    int like;                 /* the first pool of the same type, which may be this one */
    int type_slots;           /* of the first pool of a type: of all pools of the type */
    /* Of its available nodes: */
    int slots, nodes;
    int node_slots; /* of the largest one */
};

/* Pools in the order in which they occur among the nodes; in the arena's memory. */
struct pools {
    struct pool *list;
    int count; /* at least 1, also without nodes */
    int type_count;
    const int *of_node; /* by node: the index of its pool */
};

/* By type and expected revocations.  0 or -ENOMEM. */
int pools_make (const struct node *nodes, int node_count, struct arena *arena, struct pools *ret);

/* By type alone, for policies that do not count revocations: revocations_per_s is 0 in all pools.  0 or -ENOMEM. */
int pools_make_by_type (const struct node *nodes, int node_count, struct arena *arena,
                        struct pools *ret);

/* The pool of all nodes of a placement; -1: it has none, or nodes of several pools. */
int pools_find (const struct pools *pools, struct placement placement);

#endif
