/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include <stdbool.h>

/* Names of nodes, types, jobs and applications: at most 63 bytes, so that nouns are plain values.
 * What comes through a door is checked there. */
enum { NAME_SIZE = 64 };

/* A machine with slots of one type. */
struct node {
    char name[NAME_SIZE];
    char type[NAME_SIZE]; /* "" where nobody said */
    int slots;
    bool available; /* false: drained or gone; takes no replicas */
};

#endif
