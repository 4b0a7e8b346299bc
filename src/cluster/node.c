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

/* Types of nodes, in the order of their first nodes. */
struct types {
    const char *list[NODE_TYPES_LIMIT];
    int count;
};

/* False: it is one too many. */
static bool add_type (struct types *types, const char *type)
{
    for (int i = 0; i < types->count; i++)
        if (strcmp (types->list[i], type) == 0)
            return true;
    if (types->count == NODE_TYPES_LIMIT)
        return false;
    types->list[types->count++] = type;
    return true;
}

int node_beyond_types (const struct node *nodes, int count)
{
    struct types types = {.count = 0};
    for (int i = 0; i < count; i++)
        if (nodes[i].slots > 0 && !add_type (&types, nodes[i].type))
            return i;
    return -1;
}

bool node_type_fits (const struct node *nodes, int count, const char *type)
{
    struct types types = {.count = 0};
    for (int i = 0; i < count; i++)
        if (nodes[i].slots > 0)
            add_type (&types, nodes[i].type);
    return add_type (&types, type);
}
