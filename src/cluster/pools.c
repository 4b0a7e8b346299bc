/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types are few, and neighbours often have the same one: the search for a type is short.
 */
#include "cluster/pools.h"

#include <errno.h>
#include <string.h>

/* The pool of a type, which is added if it is new.  guess: the pool to look at first. */
static int pool_of (struct pools *pools, const char *type, int guess)
{
    if (guess < pools->count && strcmp (pools->list[guess].type, type) == 0)
        return guess;
    for (int i = 0; i < pools->count; i++)
        if (strcmp (pools->list[i].type, type) == 0)
            return i;
    pools->list[pools->count] = (struct pool){.type = type};
    return pools->count++;
}

int pools_make (const struct node *nodes, int node_count, struct arena *arena, struct pools *ret)
{
    size_t count = (size_t)node_count;
    int *of_node = arena_take (arena, count, sizeof (of_node[0]));
    struct pools pools = {.list = arena_take (arena, count + 1, sizeof (pools.list[0])),
                          .of_node = of_node};
    if (!of_node || !pools.list)
        return -ENOMEM;
    for (int i = 0; i < node_count; i++) {
        of_node[i] = pool_of (&pools, nodes[i].type, i > 0 ? of_node[i - 1] : 0);
        struct pool *pool = &pools.list[of_node[i]];
        if (!nodes[i].available)
            continue;
        pool->nodes++;
        pool->slots += nodes[i].slots;
        pool->node_slots = nodes[i].slots > pool->node_slots ? nodes[i].slots : pool->node_slots;
    }
    if (pools.count == 0)
        pools.list[pools.count++] = (struct pool){.type = ""};
    *ret = pools;
    return 0;
}

int pools_find (const struct pools *pools, struct placement placement)
{
    int found = -1;
    for (int i = 0; i < placement.count; i++) {
        int pool = pools->of_node[placement.shares[i].node];
        if (i > 0 && pool != found)
            return -1;
        found = pool;
    }
    return found;
}
