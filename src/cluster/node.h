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

/* A machine with slots of one type. */
struct node {
    char name[NAME_SIZE];
    char type[NAME_SIZE]; /* "": not given */
    int slots;
    bool available; /* false: drained or lost; gets no replicas */
};

/* The node of that name in a list; NULL: none. */
const struct node *node_find (const struct node *nodes, int count, const char *name);

#endif
