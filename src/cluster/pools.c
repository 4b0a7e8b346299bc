/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools are few, and neighbours often are in the same one: the search for a pool is short.
 */
#include "cluster/pools.h"

#include <errno.h>
#include <string.h>

static bool is_of (const struct pool *pool, const char *type, double revocations_per_s)
{
    return pool->revocations_per_s == revocations_per_s && strcmp (pool->type, type) == 0;
}

static void add (struct pools *pools, const char *type, double revocations_per_s)
{
    int like = 0;
    while (like < pools->count && strcmp (pools->list[like].type, type) != 0)
        like++;
    pools->type_count += like == pools->count;
    pools->list[pools->count++] =
        (struct pool){.type = type, .revocations_per_s = revocations_per_s, .like = like};
}

/* The pool of nodes of a type and a rate, which is added if it is new.  guess: the pool to look at first. */
static int pool_of (struct pools *pools, const char *type, double revocations_per_s, int guess)
{
    if (guess < pools->count && is_of (&pools->list[guess], type, revocations_per_s))
        return guess;
    for (int i = 0; i < pools->count; i++)
        if (is_of (&pools->list[i], type, revocations_per_s))
            return i;
    add (pools, type, revocations_per_s);
    return pools->count - 1;
}

static int make (const struct node *nodes, int node_count, bool by_rate, struct arena *arena,
                 struct pools *ret)
{
    size_t count = (size_t)node_count;
    int *of_node = arena_take (arena, count, sizeof (of_node[0]));
    struct pools pools = {.list = arena_take (arena, count + 1, sizeof (pools.list[0])),
                          .of_node = of_node};
    if (!of_node || !pools.list)
        return -ENOMEM;
    for (int i = 0; i < node_count; i++) {
        of_node[i] = pool_of (&pools, nodes[i].type, by_rate ? nodes[i].revocations_per_s : 0,
                              i > 0 ? of_node[i - 1] : 0);
        struct pool *pool = &pools.list[of_node[i]];
        if (!nodes[i].available)
            continue;
        pool->nodes++;
        pool->slots += nodes[i].slots;
        pool->node_slots = nodes[i].slots > pool->node_slots ? nodes[i].slots : pool->node_slots;
        pools.list[pool->like].type_slots += nodes[i].slots;
    }
    if (pools.count == 0)
        add (&pools, "", 0);
    *ret = pools;
    return 0;
}

int pools_make (const struct node *nodes, int node_count, struct arena *arena, struct pools *ret)
{
    return make (nodes, node_count, true, arena, ret);
}

int pools_make_by_type (const struct node *nodes, int node_count, struct arena *arena,
                        struct pools *ret)
{
    return make (nodes, node_count, false, arena, ret);
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
