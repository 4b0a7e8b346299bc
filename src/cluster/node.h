/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include <stdbool.h>

/* Names of nodes, types, jobs and applications have at most 63 bytes, so that structs hold them
 * directly.  src/wire checks names that come from outside. */
enum { NAME_SIZE = 64 };

/* 2^16 nodes of up to 2^10 slots: several times the largest known cluster; the sum of all slots fits
 * in an int. */
enum { NODES_LIMIT = 1 << 16, SLOTS_LIMIT = 1 << 10 };

/* Types of the nodes of a cluster: a decision may take time and memory in proportion to the square of their number.  Pools
 * (cluster/pools.h) are at most these and one more for each group of nodes, since only groups have revocations. */
enum { NODE_TYPES_LIMIT = 64 };

/* A machine with slots of one type. */
struct node {
    char name[NAME_SIZE];
    char type[NAME_SIZE]; /* "": not given */
    int slots;
    bool available;           /* false: drained or lost; gets no replicas */
    double revocations_per_s; /* expected: the provider takes it back; 0: never */
};

/* The node of that name in a list; NULL: none. */
const struct node *node_find (const struct node *nodes, int count, const char *name);

/* The first node whose type is one more than NODE_TYPES_LIMIT; -1: none is.  Nodes that are gone, without slots, do not
 * count. */
int node_beyond_types (const struct node *nodes, int count);

/* Can nodes of this type be added? */
bool node_type_fits (const struct node *nodes, int count, const char *type);

#endif
