/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of nodes outside a cluster, which has a table of its names (cluster_find_node).
 */
#include "cluster/node.h"

#include <string.h>

const struct node *node_find (const struct node *nodes, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp (nodes[i].name, name) == 0)
            return &nodes[i];
    return NULL;
}
