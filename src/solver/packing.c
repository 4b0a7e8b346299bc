/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots, taken and given back in constant time per node, and the best fit for a option:  one node
 * with as few free slots as will do; or as many of the freest nodes without an owner as it takes,
 * full, and the rest where it fits best.
 */
#include "solver/packing.h"

#include <errno.h>
#include <string.h>

static int *list_of (struct packing *packing, int node)
{
    int owned = packing->owner[node] >= 0;
    return &packing->lists[owned * (packing->free_most + 1) + packing->free[node]];
}

static void list_add (struct packing *packing, int node)
{
    int *head = list_of (packing, node);
    packing->next[node] = *head;
    packing->prev[node] = -1;
    if (*head >= 0)
        packing->prev[*head] = node;
    *head = node;
}

static void list_remove (struct packing *packing, int node)
{
    int next = packing->next[node], prev = packing->prev[node];
    if (next >= 0)
        packing->prev[next] = prev;
    if (prev >= 0)
        packing->next[prev] = next;
    else
        *list_of (packing, node) = next;
}

int packing_make (const struct solver_problem *problem, struct arena *arena, struct packing *ret)
{
    size_t nodes = (size_t)problem->node_count;
    int job_count = problem->job_count;
    struct packing packing = {
        .jobs = problem->jobs,
        .places = arena_take (arena, (size_t)job_count, sizeof (packing.places[0])),
        .job_count = job_count,
        .free = arena_take (arena, nodes, sizeof (int)),
        .owner = arena_take (arena, nodes, sizeof (int)),
        .capacity = arena_take (arena, nodes, sizeof (int)),
        .closed = arena_take (arena, nodes, sizeof (bool)),
        .used = arena_take (arena, nodes, sizeof (bool)),
        .node_count = problem->node_count,
        .next = arena_take (arena, nodes, sizeof (int)),
        .prev = arena_take (arena, nodes, sizeof (int)),
        .first = arena_take (arena, nodes, sizeof (int)),
        .count = arena_take (arena, nodes, sizeof (int)),
        .local = arena_take (arena, nodes, sizeof (int)),
        .try = arena_take (arena, nodes, sizeof (packing.try[0])),
        .arena = arena,
    };
    if (!packing.places || !packing.free || !packing.owner || !packing.capacity ||
        !packing.closed || !packing.next || !packing.prev || !packing.first || !packing.count ||
        !packing.local || !packing.try)
        return -ENOMEM;
    for (int i = 0; i < problem->node_count; i++) {
        packing.free[i] = problem->slots[i];
        packing.owner[i] = packing.local[i] = -1;
        packing.used[i] = false;
        packing.first[i] = packing.free_count; /* a tenant has a slot at least */
        packing.count[i] = 0;
        packing.free_count += packing.free[i];
        packing.free_most =
            packing.free_most > packing.free[i] ? packing.free_most : packing.free[i];
    }
    packing.open_count = packing.free_count;
    int list_count = 2 * (packing.free_most + 1);
    packing.lists = arena_take (arena, (size_t)list_count, sizeof (int));
    packing.tenants = arena_take (arena, (size_t)packing.free_count, sizeof (int));
    if (!packing.lists || !packing.tenants)
        return -ENOMEM;
    for (int i = 0; i < list_count; i++)
        packing.lists[i] = -1;
    for (int i = problem->node_count - 1; i >= 0; i--) /* so that the first node is the first */
        list_add (&packing, i);
    memset (packing.places, 0, (size_t)job_count * sizeof (packing.places[0]));
    *ret = packing;
    return 0;
}

void packing_settle (struct packing *packing)
{
    for (int i = 0; i < packing->node_count; i++) {
        packing->capacity[i] = packing->free[i];
        packing->closed[i] = packing->owner[i] >= 0;
    }
}

/* The best fit for replicas on one node, or -1; owned nodes are as good, and left for nobody
 * else, so they come first. */
static int fit_one (const struct packing *packing, int replicas)
{
    for (int free = replicas; free <= packing->free_most; free++)
        for (int owned = 1; owned >= 0; owned--) {
            int node = packing->lists[owned * (packing->free_most + 1) + free];
            if (node >= 0)
                return node;
        }
    return -1;
}

/* Fill packing->try with replicas over nodes without an owner; returns how many shares, 0 if they
 * do not fit on at least two. */
static int fit_many (struct packing *packing, int replicas)
{
    int count = 0, left = replicas;
    for (int free = packing->free_most; free > 0; free--)
        for (int node = packing->lists[free]; node >= 0; node = packing->next[node]) {
            if (left > free || (count == 0 && left > 1)) {
                int some = left > free ? free : left - 1;
                packing->try[count++] = (struct share){.node = node, .replicas = some};
                left -= some;
                continue;
            }
            /* The last share: nodes with fewer free slots than this one are all untouched. */
            for (int less = left; less < free; less++)
                if (packing->lists[less] >= 0) {
                    node = packing->lists[less];
                    break;
                }
            packing->try[count++] = (struct share){.node = node, .replicas = left};
            return count;
        }
    return 0;
}

/* The same, cut as the tariff has it cheapest, each piece on the node where it fits best. */
static int fit_cut (struct packing *packing, int replicas)
{
    const struct piece_prices *prices = packing->prices;
    int count = 0;
    for (int left = replicas, piece = prices->cut[replicas]; left > 0;
         left -= piece, piece = prices->rest_cut[left]) {
        int node = -1;
        for (int free = piece; free <= packing->free_most && node < 0; free++)
            for (node = packing->lists[free]; node >= 0 && packing->used[node];
                 node = packing->next[node])
                ;
        if (node < 0)
            break;
        packing->used[node] = true;
        packing->try[count++] = (struct share){.node = node, .replicas = piece};
        replicas -= piece;
    }
    for (int i = 0; i < count; i++)
        packing->used[packing->try[i].node] = false;
    return replicas == 0 ? count : 0;
}

static bool fits (const struct packing *packing, struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        if (packing->free[share.node] < share.replicas ||
            (placement.count > 1 && packing->owner[share.node] >= 0))
            return false;
    }
    return true;
}

bool packing_find (struct packing *packing, int job, const struct priced_option *option,
                   struct placement *ret)
{
    *ret = (struct placement){.shares = packing->try};
    switch (option->where) {
    case WHERE_NONE:
        return true;
    case WHERE_KEEP:
        *ret = packing->jobs[job].current;
        return fits (packing, *ret);
    case WHERE_ONE:
        packing->try[0] = (struct share){fit_one (packing, option->replicas), option->replicas};
        ret->count = 1;
        return packing->try[0].node >= 0;
    case WHERE_MANY:
        if (option->replicas > packing->open_count)
            return false;
        ret->count = packing->prices ? fit_cut (packing, option->replicas) : 0;
        if (ret->count == 0)
            ret->count = fit_many (packing, option->replicas);
        return ret->count > 0;
    case WHERE_BEYOND:
        return false;
    }
    return false;
}

/* Move replicas on or off a node, with its owner. */
static void shift (struct packing *packing, int node, int replicas, int owner)
{
    list_remove (packing, node);
    if (packing->owner[node] < 0)
        packing->open_count -= packing->free[node];
    packing->free[node] -= replicas;
    packing->free_count -= replicas;
    packing->owner[node] = owner;
    if (owner < 0)
        packing->open_count += packing->free[node];
    list_add (packing, node);
}

int packing_put (struct packing *packing, int job, const struct priced_option *option,
                 struct placement placement)
{
    struct place *place = &packing->places[job];
    if (placement.count > place->capacity) {
        int capacity =
            placement.count > 2 * place->capacity ? placement.count : 2 * place->capacity;
        struct share *shares = arena_take (packing->arena, (size_t)capacity, sizeof (shares[0]));
        if (!shares)
            return -ENOMEM;
        place->shares = shares;
        place->capacity = capacity;
    }
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        place->shares[i] = share;
        shift (packing, share.node, share.replicas,
               placement.count > 1 ? job : packing->owner[share.node]);
        packing->tenants[packing->first[share.node] + packing->count[share.node]++] = job;
    }
    place->count = placement.count;
    place->option = option;
    return 0;
}

void packing_take (struct packing *packing, int job)
{
    struct place *place = &packing->places[job];
    for (int i = 0; i < place->count; i++) {
        struct share share = place->shares[i];
        shift (packing, share.node, -share.replicas,
               place->count > 1 ? -1 : packing->owner[share.node]);
        int *tenants = packing->tenants + packing->first[share.node], at = 0;
        while (tenants[at] != job)
            at++;
        tenants[at] = tenants[--packing->count[share.node]];
    }
    place->count = 0;
    place->option = NULL;
}

cost packing_slack (const struct packing *packing, const struct option_lists *lists, int node)
{
    const struct piece_prices *prices = packing->prices;
    int capacity = packing->capacity[node];
    cost slack = packing->closed[node] ? prices->closed[capacity] : prices->open[capacity];
    for (int i = 0; i < packing->count[node]; i++) {
        int job = packing->tenants[packing->first[node] + i];
        if (!option_list_pinned (&lists->lists[job]))
            slack -= packing_piece (packing, job, node);
    }
    return slack;
}

cost packing_piece (const struct packing *packing, int job, int node)
{
    const struct place *place = &packing->places[job];
    int i = 0;
    while (place->shares[i].node != node)
        i++;
    return place->count == 1 ? packing->prices->one[place->shares[i].replicas]
                             : packing->prices->piece[place->shares[i].replicas];
}

cost packing_loss (const struct packing *packing)
{
    cost loss = 0;
    for (int i = 0; i < packing->job_count; i++)
        loss += packing->places[i].option ? packing->places[i].option->loss : 0;
    return loss;
}
