/* SPDX-License-Identifier: Apache-2.0 */
/* NODE events that bring the cluster in line with the nodes that a backend finds. */
#ifndef BACKEND_NODE_CHANGES_H
#define BACKEND_NODE_CHANGES_H

#include "cluster/cluster.h"

struct node_changes {
    const struct node *nodes; /* found; a node with 0 slots is gone for now */
    int count;
    int at; /* the cursor; starts at 0 */
};

/* 1 and the next NODE event, to be applied before the next call; 0: the cluster has these nodes.  A
 * node of the cluster that was not found gets 0 slots.  A drained node stays drained; a node that
 * was gone becomes available again. */
int node_changes_next (struct node_changes *changes, const struct cluster *cluster,
                       struct event *ret);

#endif
