/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the subproblems to re-solve.  A small cluster is first solved as one subproblem.  Then
 * follow sweeps over all nodes with potential, that is, with jobs that have regret or with slots
 * that are used badly.  The subproblem around such a node has the nodes of its jobs, now and in the
 * plan, and some random others, which may have the slots that these jobs lack.  Sweeps are repeated
 * while they gain enough.
 */
#include "solver/local_search.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "solver/subproblem.h"

enum {
    SUBPROBLEM_SLOTS = 16, /* slots of the random nodes in the first sweep */
    EXTRA_NODES = 2,       /* this many more nodes are added when sweeps gain little */
    SUBPROBLEM_WORK = 600, /* most steps per subproblem */
    SWEEPS_MOST = 32,
    ATTEMPTS = 2,  /* per node and sweep */
    IDLE_JOBS = 3, /* jobs without slots per subproblem */
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

/* Are all nodes of the job in the subproblem? */
static bool inside (const struct packing *packing, int job)
{
    const struct place *place = &packing->places[job];
    for (int i = 0; i < place->count; i++)
        if (packing->local[place->shares[i].node] < 0)
            return false;
    return true;
}

/* ---- Potential ---- */

/* A node and the most that could be gained there: the slack of its slots and the regrets of its
 * jobs, each divided evenly over the job's nodes. */
struct candidate {
    cost potential;
    int node;
};

/* The nodes with potential, the largest first, and the jobs with regret and without slots. */
struct candidates {
    struct candidate *nodes;
    int *idle;
    int node_count, idle_count;
};

static int candidates_make (const struct packing *packing, struct candidates *ret)
{
    struct arena *arena = packing->arena;
    *ret = (struct candidates){
        .nodes = arena_take (arena, (size_t)packing->node_count, sizeof (ret->nodes[0])),
        .idle = arena_take (arena, (size_t)packing->job_count, sizeof (int)),
    };
    return ret->nodes && ret->idle ? 0 : -ENOMEM;
}

static int by_potential (const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = compare_costs (y->potential, x->potential);
    return order ? order : x->node - y->node;
}

static cost potential_of (const struct option_lists *lists, const struct packing *packing, int node)
{
    cost potential = packing_slack (packing, lists, node);
    for (int i = 0; i < packing->count_on[node]; i++) {
        int job = packing->jobs_on[packing->first_on[node] + i];
        const struct place *place = &packing->places[job];
        if (!option_list_pinned (&lists->lists[job]))
            potential += place->option->regret / place->count;
    }
    return potential;
}

static void candidates_find (const struct option_lists *lists, const struct packing *packing,
                             struct candidates *candidates)
{
    candidates->node_count = candidates->idle_count = 0;
    for (int i = 0; i < packing->node_count; i++) {
        cost potential = packing->capacity[i] > 0 ? potential_of (lists, packing, i) : 0;
        if (potential > 0)
            candidates->nodes[candidates->node_count++] =
                (struct candidate){.potential = potential, .node = i};
    }
    qsort (candidates->nodes, (size_t)candidates->node_count, sizeof (candidates->nodes[0]),
           by_potential);
    for (int i = 0; i < packing->job_count; i++)
        if (packing->places[i].count == 0 && packing->places[i].option->regret > 0)
            candidates->idle[candidates->idle_count++] = i;
}

/* ---- Subproblems ---- */

static int any_node (const struct packing *packing, const struct candidates *candidates,
                     struct rng *rng)
{
    if (candidates->node_count > 0 && rng_below (rng, 2) == 0)
        return candidates->nodes[rng_below (rng, (uint64_t)candidates->node_count)].node;
    return (int)rng_below (rng, (uint64_t)packing->node_count);
}

/* Add the nodes of a placement, if they are few. */
static void take_nodes (const struct packing *packing, struct subproblem *subproblem,
                        struct placement placement)
{
    for (int i = 0; i < placement.count && placement.count <= SUBPROBLEM_NODES / 4; i++)
        if (packing->capacity[placement.shares[i].node] > 0)
            subproblem_add_node (subproblem, placement.shares[i].node);
}

/* Take a node, the nodes of its jobs, now and in the plan, `extra` random ones, and the jobs that
 * are on these nodes alone. */
static void take_around (const struct option_lists *lists, const struct packing *packing,
                         const struct candidates *candidates, struct subproblem *subproblem,
                         int node, int extra, struct rng *rng)
{
    subproblem_begin (subproblem);
    subproblem_add_node (subproblem, node);
    for (int i = 0; i < packing->count_on[node]; i++) {
        int job = packing->jobs_on[packing->first_on[node] + i];
        const struct place *place = &packing->places[job];
        if (place->option->regret > 0) {
            take_nodes (packing, subproblem, (struct placement){place->shares, place->count});
            take_nodes (packing, subproblem, packing->jobs[job].current);
        }
    }
    for (int i = 0; i < extra; i++) {
        int other = any_node (packing, candidates, rng);
        if (packing->capacity[other] > 0)
            subproblem_add_node (subproblem, other);
    }
    for (int i = 0; i < IDLE_JOBS && i < candidates->idle_count; i++) {
        int job = candidates->idle[rng_below (rng, (uint64_t)candidates->idle_count)];
        if (packing->places[job].count == 0)
            subproblem_add_job (subproblem, job);
    }
    for (int i = 0; i < subproblem->node_count; i++) {
        int at = subproblem->nodes[i];
        for (int j = 0; j < packing->count_on[at]; j++) {
            int job = packing->jobs_on[packing->first_on[at] + j];
            if (inside (packing, job) && !option_list_pinned (&lists->lists[job]))
                subproblem_add_job (subproblem, job);
        }
    }
}

struct search {
    struct option_lists *lists;
    struct packing *packing;
    struct subproblem *subproblem;
    struct rng rng;
    int64_t work; /* left */
    cost loss, bound;
};

/* Re-solve the subproblem with at most `most` steps. */
static int solve (struct search *search, int64_t most)
{
    int64_t granted = search->work < most ? search->work : most, left = granted;
    cost gain = subproblem_solve (search->subproblem, &left);
    search->work -= granted - left;
    search->loss -= gain > 0 ? gain : 0;
    return gain < 0 ? -ENOMEM : 0;
}

/* Solve the whole cluster as one subproblem; its knapsack bound holds for every plan. */
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

/* Re-solve around every node with potential.  Returns the gain, or -1: no memory. */
static cost sweep (struct search *search, struct candidates *candidates, int extra)
{
    const struct packing *packing = search->packing;
    cost before = search->loss;
    candidates_find (search->lists, packing, candidates);
    for (int i = 0; i < candidates->node_count && search->work > 0; i++)
        for (int j = 0; j < ATTEMPTS && search->loss > search->bound; j++) {
            int node = candidates->nodes[i].node;
            if (potential_of (search->lists, packing, node) == 0)
                break;
            take_around (search->lists, packing, candidates, search->subproblem, node, extra,
                         &search->rng);
            if (solve (search, SUBPROBLEM_WORK) < 0)
                return -1;
        }
    search->work--; /* ends the search also if no node has potential */
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
    struct candidates candidates;
    if (!search.subproblem || candidates_make (packing, &candidates) < 0)
        return -ENOMEM;
    option_lists_trim (lists, search.loss - lists->bound);
    if (search_whole (&search) < 0)
        return -ENOMEM;
    option_lists_trim (lists, search.loss - lists->bound);
    /* Small subproblems, which are searched completely, come first; larger ones follow. */
    int extra = SUBPROBLEM_SLOTS / (packing->free_most + 1), most = extra + EXTRA_NODES;
    for (int i = 0; i < SWEEPS_MOST && search.work > 0 && search.loss > search.bound; i++) {
        cost excess = search.loss - search.bound;
        cost gain = sweep (&search, &candidates, extra);
        if (gain < 0)
            return -ENOMEM;
        if (gain < excess / 20 && ++extra > most)
            break;
    }
    *bound = search.bound;
    return 0;
}
