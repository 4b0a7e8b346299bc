/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups to re-solve.  A small cluster is first taken as one group.  Then come groups of a few
 * nodes around jobs in trouble, those that have regret: the nodes of the job, the nodes where it
 * runs now, and some of those where others are in trouble or slots are free, because what one has
 * too much another may lack.  Sweeps over all troubled jobs are repeated as long as they bring
 * something.
 */
#include "solver/local_search.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "solver/subproblem.h"

enum {
    SUBPROBLEM_SLOTS = 16,
    LARGER = 2,
    SUBPROBLEM_WORK = 600,
    SWEEPS_MOST = 32,
    ATTEMPTS = 2,
    IDLE_JOBS = 3,
    CLOSURE = 3
};

/* All nodes and jobs, if they are few. */
static bool take_all (const struct option_lists *lists, const struct packing *packing,
                      struct subproblem *subproblem)
{
    subproblem_begin (subproblem);
    for (int i = 0; i < packing->node_count; i++)
        if (packing->capacity[i] > 0 && !subproblem_add_node (subproblem, i))
            return false;
    for (int i = 0; i < packing->job_count; i++)
        if (!option_list_pinned (&lists->lists[i]) && !subproblem_add_job (subproblem, i))
            return false;
    return true;
}

/* Is the job wholly on nodes of the group? */
static bool inside (const struct packing *packing, int job)
{
    const struct place *place = &packing->places[job];
    for (int i = 0; i < place->count; i++)
        if (packing->local[place->shares[i].node] < 0)
            return false;
    return true;
}

/* ---- Trouble ---- */

/* A node and what could be gained there at most: the regrets of its jobs, each node of a job having
 * its part, and what the node could hold beyond what it does. */
struct spot {
    cost trouble;
    int node;
};

/* The nodes in trouble, those with most first, and jobs that have regret and no slots. */
struct trouble {
    struct spot *spots;
    int *idle;
    int spot_count, idle_count;
};

static int trouble_room (const struct packing *packing, struct trouble *ret)
{
    struct arena *arena = packing->arena;
    *ret = (struct trouble){
        .spots = arena_take (arena, (size_t)packing->node_count, sizeof (ret->spots[0])),
        .idle = arena_take (arena, (size_t)packing->job_count, sizeof (int)),
    };
    return ret->spots && ret->idle ? 0 : -ENOMEM;
}

static int by_trouble (const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->trouble != y->trouble)
        return x->trouble > y->trouble ? -1 : 1;
    return x->node - y->node;
}

static cost trouble_on (const struct option_lists *lists, const struct packing *packing, int node)
{
    cost trouble = packing_slack (packing, lists, node);
    for (int i = 0; i < packing->count[node]; i++) {
        int job = packing->tenants[packing->first[node] + i];
        const struct place *place = &packing->places[job];
        if (!option_list_pinned (&lists->lists[job]))
            trouble += place->option->regret / place->count;
    }
    return trouble;
}

static void trouble_find (const struct option_lists *lists, const struct packing *packing,
                          struct trouble *trouble)
{
    trouble->spot_count = trouble->idle_count = 0;
    for (int i = 0; i < packing->node_count; i++) {
        cost some = packing->capacity[i] > 0 ? trouble_on (lists, packing, i) : 0;
        if (some > 0)
            trouble->spots[trouble->spot_count++] = (struct spot){.trouble = some, .node = i};
    }
    qsort (trouble->spots, (size_t)trouble->spot_count, sizeof (trouble->spots[0]), by_trouble);
    for (int i = 0; i < packing->job_count; i++)
        if (packing->places[i].count == 0 && packing->places[i].option->regret > 0)
            trouble->idle[trouble->idle_count++] = i;
}

/* ---- Groups ---- */

static int any_node (const struct packing *packing, const struct trouble *trouble, struct rng *rng)
{
    if (trouble->spot_count > 0 && rng_below (rng, 2) == 0)
        return trouble->spots[rng_below (rng, (uint64_t)trouble->spot_count)].node;
    return (int)rng_below (rng, (uint64_t)packing->node_count);
}

/* Add the nodes of a placement, if there are not too many. */
static void take_nodes (const struct packing *packing, struct subproblem *subproblem,
                        struct placement placement)
{
    for (int i = 0; i < placement.count && placement.count <= SUBPROBLEM_NODES / 4; i++)
        if (packing->capacity[placement.shares[i].node] > 0)
            subproblem_add_node (subproblem, placement.shares[i].node);
}

/* A node, those of its jobs, now and in the plan, and some others; and who is on them. */
static void take_around (const struct option_lists *lists, const struct packing *packing,
                         const struct trouble *trouble, struct subproblem *subproblem, int node,
                         int partners, struct rng *rng)
{
    subproblem_begin (subproblem);
    subproblem_add_node (subproblem, node);
    for (int i = 0; i < packing->count[node]; i++) {
        int job = packing->tenants[packing->first[node] + i];
        const struct place *place = &packing->places[job];
        if (place->option->regret > 0) {
            take_nodes (packing, subproblem, (struct placement){place->shares, place->count});
            take_nodes (packing, subproblem, packing->jobs[job].current);
        }
    }
    for (int i = 0; i < partners; i++) {
        int other = any_node (packing, trouble, rng);
        if (packing->capacity[other] > 0)
            subproblem_add_node (subproblem, other);
    }
    for (int i = 0; i < IDLE_JOBS && i < trouble->idle_count; i++) {
        int job = trouble->idle[rng_below (rng, (uint64_t)trouble->idle_count)];
        if (packing->places[job].count == 0)
            subproblem_add_job (subproblem, job);
    }
    for (int i = 0; i < subproblem->node_count; i++) {
        int at = subproblem->nodes[i];
        for (int j = 0; j < packing->count[at]; j++) {
            int tenant = packing->tenants[packing->first[at] + j];
            if (inside (packing, tenant) && !option_list_pinned (&lists->lists[tenant]))
                subproblem_add_job (subproblem, tenant);
        }
    }
}

/* A search at work. */
struct search {
    struct option_lists *lists;
    struct packing *packing;
    struct subproblem *subproblem;
    struct rng rng;
    int64_t work; /* left */
    cost loss, bound;
};

/* Re-solve the group with at most so much work. */
static int solve (struct search *search, int64_t most)
{
    int64_t granted = search->work < most ? search->work : most, left = granted;
    cost gain = subproblem_solve (search->subproblem, &left);
    search->work -= granted - left;
    search->loss -= gain > 0 ? gain : 0;
    return gain < 0 ? -ENOMEM : 0;
}

/* The whole cluster as one group: its knapsack is a bound, too. */
static int search_whole (struct search *search)
{
    if (!take_all (search->lists, search->packing, search->subproblem))
        return 0;
    cost knapsack = subproblem_bound (search->subproblem);
    for (int i = 0; i < search->packing->job_count; i++)
        if (option_list_pinned (&search->lists->lists[i]))
            knapsack += search->packing->places[i].option->loss;
    knapsack = knapsack < search->loss ? knapsack : search->loss;
    search->bound = search->bound > knapsack ? search->bound : knapsack;
    return search->loss > search->bound ? solve (search, search->work / 2) : 0;
}

/* Every node in trouble once or twice.  Returns what was gained, or -1: no memory. */
static cost sweep (struct search *search, struct trouble *trouble, int partners)
{
    const struct packing *packing = search->packing;
    cost before = search->loss;
    trouble_find (search->lists, packing, trouble);
    for (int i = 0; i < trouble->spot_count && search->work > 0; i++)
        for (int j = 0; j < ATTEMPTS && search->loss > search->bound; j++) {
            int node = trouble->spots[i].node;
            if (trouble_on (search->lists, packing, node) == 0)
                break;
            take_around (search->lists, packing, trouble, search->subproblem, node, partners,
                         &search->rng);
            if (solve (search, SUBPROBLEM_WORK) < 0)
                return -1;
        }
    search->work--; /* also if nothing was in trouble */
    return before - search->loss;
}

int local_search (struct option_lists *lists, struct packing *packing, uint64_t seed, int64_t work,
                  cost *bound)
{
    struct search search = {
        .lists = lists,
        .packing = packing,
        .subproblem = subproblem_new (lists, packing),
        .rng = rng_seed (seed),
        .work = work,
        .loss = packing_loss (packing),
        .bound = *bound,
    };
    struct trouble trouble;
    if (!search.subproblem || trouble_room (packing, &trouble) < 0)
        return -ENOMEM;
    option_lists_trim (lists, search.loss - lists->bound);
    if (search_whole (&search) < 0)
        return -ENOMEM;
    option_lists_trim (lists, search.loss - lists->bound);
    /* Small groups first, which are searched completely; larger ones when these are exhausted. */
    int partners = SUBPROBLEM_SLOTS / (packing->free_most + 1), most = partners + LARGER;
    for (int i = 0; i < SWEEPS_MOST && search.work > 0 && search.loss > search.bound; i++) {
        cost excess = search.loss - search.bound;
        cost gain = sweep (&search, &trouble, partners);
        if (gain < 0)
            return -ENOMEM;
        if (gain < excess / 20 && ++partners > most)
            break;
    }
    *bound = search.bound;
    return 0;
}
