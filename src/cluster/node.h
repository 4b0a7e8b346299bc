/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include <stdbool.h>

/* Names of nodes, types, jobs and applications: at most 63 bytes, so that nouns are plain values.
 * What comes through a door is checked there. */
enum { NAME_SIZE = 64 };

/* 2^16 nodes of up to 2^10 slots: several times the largest cluster that we know, and sums of slots
 * stay far within an int. */
enum { NODES_LIMIT = 1 << 16, SLOTS_LIMIT = 1 << 10 };

/* A machine with slots of one type. */
struct node {
    char name[NAME_SIZE];
    char type[NAME_SIZE]; /* "" where nobody said */
    int slots;
    bool available; /* false: drained or gone; takes no replicas */
};

#endif
