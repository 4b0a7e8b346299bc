/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes and gives back slots in constant time per node, and finds the best fit for an option: one
 * node with as few free slots as suffice; or several open nodes.
 */
#include "solver/packing.h"

#include <errno.h>
#include <string.h>

/* The head of the list of nodes of a pool with so many free slots. */
static int *list_head (const struct packing_pool *pool, bool multi, int free)
{
    return &pool->lists[multi * (pool->free_most + 1) + free];
}

static int *list_of (struct packing *packing, int node)
{
    return list_head (&packing->pools[packing->pool_of[node]], packing->multi_job[node] >= 0,
                      packing->free[node]);
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

/* Count the slots of the pools and make their lists, which are empty.  -ENOMEM. */
static int pools_make (const struct solver_problem *problem, struct packing *packing)
{
    for (int i = 0; i < packing->pool_count; i++)
        packing->pools[i] = (struct packing_pool){0};
    for (int i = 0; i < problem->node_count; i++) {
        struct packing_pool *pool = &packing->pools[problem->pools[i]];
        pool->free_count += problem->slots[i];
        pool->free_most = pool->free_most > problem->slots[i] ? pool->free_most : problem->slots[i];
    }
    for (int i = 0; i < packing->pool_count; i++) {
        struct packing_pool *pool = &packing->pools[i];
        int list_count = 2 * (pool->free_most + 1);
        pool->open_count = pool->free_count;
        packing->free_count += pool->free_count;
        packing->free_most =
            packing->free_most > pool->free_most ? packing->free_most : pool->free_most;
        pool->lists = arena_take (packing->arena, (size_t)list_count, sizeof (int));
        if (!pool->lists)
            return -ENOMEM;
        for (int j = 0; j < list_count; j++)
            pool->lists[j] = -1;
    }
    return 0;
}

int packing_make (const struct solver_problem *problem, struct arena *arena, struct packing *ret)
{
    size_t nodes = (size_t)problem->node_count;
    int job_count = problem->job_count;
    struct packing packing = {
        .jobs = problem->jobs,
        .places = arena_take (arena, (size_t)job_count, sizeof (packing.places[0])),
        .job_count = job_count,
        .pools = arena_take (arena, (size_t)problem->pool_count, sizeof (packing.pools[0])),
        .pool_count = problem->pool_count,
        .pool_of = problem->pools,
        .free = arena_take (arena, nodes, sizeof (int)),
        .multi_job = arena_take (arena, nodes, sizeof (int)),
        .capacity = arena_take (arena, nodes, sizeof (int)),
        .closed = arena_take (arena, nodes, sizeof (bool)),
        .used = arena_take (arena, nodes, sizeof (bool)),
        .node_count = problem->node_count,
        .next = arena_take (arena, nodes, sizeof (int)),
        .prev = arena_take (arena, nodes, sizeof (int)),
        .first_on = arena_take (arena, nodes, sizeof (int)),
        .count_on = arena_take (arena, nodes, sizeof (int)),
        .local = arena_take (arena, nodes, sizeof (int)),
        .scratch = arena_take (arena, nodes, sizeof (packing.scratch[0])),
        .arena = arena,
    };
    if (!packing.places || !packing.pools || !packing.free || !packing.multi_job ||
        !packing.capacity || !packing.closed || !packing.next || !packing.prev ||
        !packing.first_on || !packing.count_on || !packing.local || !packing.scratch)
        return -ENOMEM;
    int first = 0;
    for (int i = 0; i < problem->node_count; i++) {
        packing.free[i] = problem->slots[i];
        packing.multi_job[i] = packing.local[i] = -1;
        packing.used[i] = false;
        packing.first_on[i] = first; /* a job there has at least one slot */
        packing.count_on[i] = 0;
        first += packing.free[i];
    }
    packing.jobs_on = arena_take (arena, (size_t)first, sizeof (int));
    if (!packing.jobs_on || pools_make (problem, &packing) < 0)
        return -ENOMEM;
    for (int i = problem->node_count - 1; i >= 0; i--) /* the first node comes first */
        list_add (&packing, i);
    memset (packing.places, 0, (size_t)job_count * sizeof (packing.places[0]));
    *ret = packing;
    return 0;
}

void packing_set_capacity (struct packing *packing)
{
    for (int i = 0; i < packing->node_count; i++) {
        packing->capacity[i] = packing->free[i];
        packing->closed[i] = packing->multi_job[i] >= 0;
    }
}

/* The best fit for replicas on one node, or -1.  Nodes that are not open come first: jobs on several
 * nodes cannot use them. */
static int fit_one (const struct packing_pool *pool, int replicas)
{
    for (int free = replicas; free <= pool->free_most; free++)
        for (int multi = 1; multi >= 0; multi--) {
            int node = *list_head (pool, multi, free);
            if (node >= 0)
                return node;
        }
    return -1;
}

/* Spread replicas over the open nodes with most free slots, the last share where it fits best.
 * Returns the number of shares in packing->scratch; 0: they do not fit on two nodes or more. */
static int fit_many (struct packing *packing, const struct packing_pool *pool, int replicas)
{
    int count = 0, left = replicas;
    for (int free = pool->free_most; free > 0; free--)
        for (int node = *list_head (pool, false, free); node >= 0; node = packing->next[node]) {
            if (left > free || (count == 0 && left > 1)) {
                int some = left > free ? free : left - 1;
                packing->scratch[count++] = (struct share){.node = node, .replicas = some};
                left -= some;
                continue;
            }
            /* The last share: no node with fewer free slots than this one has a share yet. */
            for (int less = left; less < free; less++)
                if (*list_head (pool, false, less) >= 0) {
                    node = *list_head (pool, false, less);
                    break;
                }
            packing->scratch[count++] = (struct share){.node = node, .replicas = left};
            return count;
        }
    return 0;
}

/* The same with the cheapest split, each piece on the open node where it fits best. */
static int fit_split (struct packing *packing, const struct packing_pool *pool,
                      const struct piece_prices *prices, int replicas)
{
    int count = 0;
    for (int left = replicas, piece = prices->many_piece[replicas]; left > 0;
         left -= piece, piece = prices->rest_piece[left]) {
        int node = -1;
        for (int free = piece; free <= pool->free_most && node < 0; free++)
            for (node = *list_head (pool, false, free); node >= 0 && packing->used[node];
                 node = packing->next[node])
                ;
        if (node < 0)
            break;
        packing->used[node] = true;
        packing->scratch[count++] = (struct share){.node = node, .replicas = piece};
        replicas -= piece;
    }
    for (int i = 0; i < count; i++)
        packing->used[packing->scratch[i].node] = false;
    return replicas == 0 ? count : 0;
}

static bool fits (const struct packing *packing, struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        if (packing->free[share.node] < share.replicas ||
            (placement.count > 1 && packing->multi_job[share.node] >= 0))
            return false;
    }
    return true;
}

bool packing_find (struct packing *packing, int job, const struct priced_option *option,
                   struct placement *ret)
{
    const struct packing_pool *pool = &packing->pools[option->pool];
    *ret = (struct placement){.shares = packing->scratch};
    switch (option->where) {
    case WHERE_NONE:
        return true;
    case WHERE_KEEP:
        *ret = packing->jobs[job].current;
        return fits (packing, *ret);
    case WHERE_ONE:
        packing->scratch[0] = (struct share){fit_one (pool, option->replicas), option->replicas};
        ret->count = 1;
        return packing->scratch[0].node >= 0;
    case WHERE_MANY:
        if (option->replicas > pool->open_count)
            return false;
        if (packing->prices)
            ret->count =
                fit_split (packing, pool, &packing->prices[option->pool], option->replicas);
        if (ret->count == 0)
            ret->count = fit_many (packing, pool, option->replicas);
        return ret->count > 0;
    case WHERE_BEYOND:
        return false;
    }
    return false;
}

/* Take slots of a node (replicas < 0: give them back), and set its multi_job. */
static void take_slots (struct packing *packing, int node, int replicas, int multi_job)
{
    struct packing_pool *pool = &packing->pools[packing->pool_of[node]];
    list_remove (packing, node);
    if (packing->multi_job[node] < 0)
        pool->open_count -= packing->free[node];
    packing->free[node] -= replicas;
    packing->free_count -= replicas;
    pool->free_count -= replicas;
    packing->multi_job[node] = multi_job;
    if (multi_job < 0)
        pool->open_count += packing->free[node];
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
        take_slots (packing, share.node, share.replicas,
                    placement.count > 1 ? job : packing->multi_job[share.node]);
        packing->jobs_on[packing->first_on[share.node] + packing->count_on[share.node]++] = job;
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
        take_slots (packing, share.node, -share.replicas,
                    place->count > 1 ? -1 : packing->multi_job[share.node]);
        int *jobs = packing->jobs_on + packing->first_on[share.node], at = 0;
        while (jobs[at] != job)
            at++;
        jobs[at] = jobs[--packing->count_on[share.node]];
    }
    place->count = 0;
    place->option = NULL;
}

cost packing_slack (const struct packing *packing, const struct option_lists *lists, int node)
{
    const struct piece_prices *prices = &packing->prices[packing->pool_of[node]];
    int capacity = packing->capacity[node];
    cost slack = packing->closed[node] ? prices->closed[capacity] : prices->open[capacity];
    for (int i = 0; i < packing->count_on[node]; i++) {
        int job = packing->jobs_on[packing->first_on[node] + i];
        if (!option_list_pinned (&lists->lists[job]))
            slack -= packing_piece_price (packing, job, node);
    }
    return slack;
}

cost packing_piece_price (const struct packing *packing, int job, int node)
{
    const struct place *place = &packing->places[job];
    int i = 0;
    while (place->shares[i].node != node)
        i++;
    const struct piece_prices *prices = &packing->prices[packing->pool_of[node]];
    return place->count == 1 ? prices->one[place->shares[i].replicas]
                             : prices->piece[place->shares[i].replicas];
}

cost packing_loss (const struct packing *packing)
{
    cost loss = 0;
    for (int i = 0; i < packing->job_count; i++)
        loss += packing->places[i].option ? packing->places[i].option->loss : 0;
    return loss;
}
