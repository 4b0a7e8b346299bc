/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the nodes that were found, then those of the cluster that were not.  Nodes of groups are not found: they come and
 * leave with requests (`pollux nodes up`).
 */
#include "backend/node_changes.h"

#include <string.h>

static bool same_node (const struct node *a, const struct node *b)
{
    return a->slots == b->slots && strcmp (a->type, b->type) == 0;
}

/* True, and the node as it is to be, if the cluster has to change. */
static bool change_found (const struct cluster *cluster, const struct node *node, struct node *ret)
{
    int index = cluster_find_node (cluster, node->name);
    const struct node *known = index >= 0 ? &cluster->nodes[index] : NULL;
    if (known ? same_node (known, node) : node->slots == 0)
        return false;
    *ret = *node;
    if (node->slots == 0) {
        memcpy (ret->type, known->type, NAME_SIZE);
        ret->available = false;
        return known->slots > 0;
    }
    ret->available = !known || known->available || known->slots == 0;
    return true;
}

static bool change_missing (const struct cluster *cluster, const struct node_changes *changes,
                            int index, struct node *ret)
{
    *ret = cluster->nodes[index];
    if (ret->slots == 0 || cluster->node_power[index].group >= 0 ||
        node_find (changes->nodes, changes->count, ret->name))
        return false;
    ret->slots = 0;
    ret->available = false;
    return true;
}

int node_changes_next (struct node_changes *changes, const struct cluster *cluster,
                       struct event *ret)
{
    *ret = (struct event){.type = EVENT_NODE, .job = -1};
    for (; changes->at < changes->count + cluster->node_count; changes->at++) {
        int missing = changes->at - changes->count;
        if (missing < 0 ? change_found (cluster, &changes->nodes[changes->at], &ret->node)
                        : change_missing (cluster, changes, missing, &ret->node)) {
            changes->at++;
            return 1;
        }
    }
    return 0;
}
