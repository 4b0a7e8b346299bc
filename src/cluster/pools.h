/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a cluster by type.  A job runs on nodes of one type at a time: its replicas wait for each
 * other in every update, so the slowest one sets the pace. */
#ifndef CLUSTER_POOLS_H
#define CLUSTER_POOLS_H

#include "base/arena.h"
#include "cluster/node.h"
#include "model/placement.h"

/* The nodes of one type. */
struct pool {
    const char *type; /* borrowed from a node */
    /* Of its available nodes: */
    int slots, nodes;
    int node_slots; /* of the largest one */
};

/* Pools in the order in which their types occur among the nodes; in the arena's memory. */
struct pools {
    struct pool *list;
    int count;          /* at least 1, also without nodes */
    const int *of_node; /* by node: the index of its pool */
};

/* 0 or -ENOMEM. */
int pools_make (const struct node *nodes, int node_count, struct arena *arena, struct pools *ret);

/* The pool of all nodes of a placement; -1: it has none, or nodes of several pools. */
int pools_find (const struct pools *pools, struct placement placement);

#endif
