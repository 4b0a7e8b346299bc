/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects nodes and jobs, and computes two bounds for the search: by the prices, which know how
 * pieces fit on nodes; and by the knapsack that ignores nodes, which knows that slots are whole:
 *
 *     rest[i][s] = least loss of the jobs i.. with s slots together
 *
 * The knapsack has one kind of slots.  With several pools every slot has a surcharge, the amount by which
 * its pool is dearer than the cheapest one: the losses with surcharges, minus the surcharges of all free
 * slots, are at most the losses (Lagrangian relaxation of the differences between pools).
 */
#include "solver/subproblem.h"

#include <stdlib.h>

/* Up to this size the search tries all splits of a job over several nodes. */
enum { EXHAUSTIVE_NODES = 4, EXHAUSTIVE_SLOTS = 16 };

/* The price of a slot on a full node of the pool. */
static cost slot_price (const struct packing *packing, int pool)
{
    int most = packing->pools[pool].free_most;
    return most > 0 ? packing->prices[pool].open[most] / most : 0;
}

static void find_surcharges (const struct packing *packing, cost *surcharge)
{
    cost least = slot_price (packing, 0);
    for (int i = 1; i < packing->pool_count; i++)
        least = slot_price (packing, i) < least ? slot_price (packing, i) : least;
    for (int i = 0; i < packing->pool_count; i++)
        surcharge[i] = slot_price (packing, i) - least;
}

struct subproblem *subproblem_new (const struct option_lists *lists, struct packing *packing)
{
    struct subproblem *subproblem = arena_take (packing->arena, 1, sizeof (*subproblem));
    int *member = arena_take (packing->arena, (size_t)packing->job_count, sizeof (member[0]));
    cost *surcharge =
        arena_take (packing->arena, (size_t)packing->pool_count, sizeof (surcharge[0]));
    if (!subproblem || !member || !surcharge)
        return NULL;
    find_surcharges (packing, surcharge);
    subproblem->lists = lists;
    subproblem->packing = packing;
    subproblem->member = member;
    subproblem->surcharge = surcharge;
    subproblem->serial = 0;
    subproblem->node_count = subproblem->job_count = 0;
    for (int i = 0; i < packing->job_count; i++)
        member[i] = -1;
    return subproblem;
}

void subproblem_begin (struct subproblem *subproblem)
{
    for (int i = 0; i < subproblem->node_count; i++)
        subproblem->packing->local[subproblem->nodes[i]] = -1;
    subproblem->node_count = subproblem->job_count = 0;
    subproblem->serial++;
}

bool subproblem_add_node (struct subproblem *subproblem, int node)
{
    int *local = &subproblem->packing->local[node];
    if (*local >= 0 || subproblem->node_count == SUBPROBLEM_NODES)
        return false;
    *local = subproblem->node_count;
    subproblem->nodes[subproblem->node_count++] = node;
    return true;
}

bool subproblem_add_job (struct subproblem *subproblem, int job)
{
    if (subproblem->job_count == SUBPROBLEM_JOBS || subproblem->member[job] == subproblem->serial)
        return false;
    subproblem->member[job] = subproblem->serial;
    subproblem->jobs[subproblem->job_count++] = job;
    return true;
}

/* ---- Preparing ---- */

/* The order of the search: first the jobs that may keep their placement, by falling regret of
 * their second option; then the others, the largest first. */
struct rank {
    bool keeps;
    cost key;
    int job;
};

static struct rank rank_of (const struct subproblem *subproblem, int job)
{
    const struct option_list *list = &subproblem->lists->lists[job];
    struct placement current = list->job->current;
    struct rank rank = {.key = list->first->replicas, .job = job};
    for (int i = 0; i < current.count && !rank.keeps; i++)
        rank.keeps = subproblem->packing->local[current.shares[i].node] >= 0;
    if (rank.keeps)
        rank.key = list->count > 1 ? list->options[1].regret : COST_MOST;
    return rank;
}

static bool ranks_before (const struct rank *a, const struct rank *b)
{
    if (a->keeps != b->keeps)
        return a->keeps;
    return a->key != b->key ? a->key > b->key : a->job < b->job;
}

static void sort_jobs (struct subproblem *subproblem)
{
    struct rank ranks[SUBPROBLEM_JOBS];
    subproblem->keep_count = 0;
    for (int i = 0; i < subproblem->job_count; i++) {
        struct rank rank = rank_of (subproblem, subproblem->jobs[i]);
        subproblem->keep_count += rank.keeps;
        int at = i;
        for (; at > 0 && ranks_before (&rank, &ranks[at - 1]); at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
    for (int i = 0; i < subproblem->job_count; i++)
        subproblem->jobs[i] = ranks[i].job;
}

/* Copy the nodes' state, with the jobs' own slots given back. */
static void copy_state (struct subproblem *subproblem)
{
    struct packing *packing = subproblem->packing;
    for (int i = 0; i < subproblem->node_count; i++) {
        int node = subproblem->nodes[i];
        subproblem->pool[i] = packing->pool_of[node];
        subproblem->free[i] = packing->free[node];
        subproblem->multi[i] = packing->multi_job[node] >= 0;
        subproblem->special[i] = false;
    }
    subproblem->start = 0;
    for (int i = 0; i < subproblem->job_count; i++) {
        int job = subproblem->jobs[i];
        const struct place *place = &packing->places[job];
        subproblem->start += place->option->loss;
        for (int j = 0; j < place->count; j++) {
            int local = packing->local[place->shares[j].node];
            subproblem->free[local] += place->shares[j].replicas;
            if (place->count > 1)
                subproblem->multi[local] = false;
        }
        struct placement current = packing->jobs[job].current;
        for (int j = 0; j < current.count; j++) {
            int local = packing->local[current.shares[j].node];
            if (local >= 0)
                subproblem->special[local] = true;
        }
    }
    subproblem->slots = 0;
    subproblem->refund = 0;
    for (int i = 0; i < subproblem->node_count; i++) {
        subproblem->slots += subproblem->free[i];
        subproblem->refund += subproblem->free[i] * subproblem->surcharge[subproblem->pool[i]];
    }
}

/* The most that pieces of the subproblem's jobs on a node can cost, next to those of other jobs. */
static cost room_on (const struct subproblem *subproblem, int node)
{
    const struct packing *packing = subproblem->packing;
    cost room = packing_slack (packing, subproblem->lists, node);
    for (int i = 0; i < packing->count_on[node]; i++) {
        int job = packing->jobs_on[packing->first_on[node] + i];
        if (subproblem->member[job] == subproblem->serial)
            room += packing_piece_price (packing, job, node);
    }
    return room;
}

/* The jobs' least costs, minus the room on the nodes, are a lower bound of their loss.  No better
 * plan uses an option whose regret exceeds the distance of the present loss from that bound. */
static void find_usable (struct subproblem *subproblem)
{
    cost gain_most = subproblem->start;
    for (int i = 0; i < subproblem->node_count; i++)
        gain_most += room_on (subproblem, subproblem->nodes[i]);
    for (int i = 0; i < subproblem->job_count; i++)
        gain_most -= subproblem->lists->lists[subproblem->jobs[i]].least;
    for (int i = 0; i < subproblem->job_count; i++) {
        const struct option_list *list = &subproblem->lists->lists[subproblem->jobs[i]];
        int count = 0;
        while (count < list->count && list->options[count].regret <= gain_most)
            count++;
        subproblem->usable[i] = count;
    }
    subproblem->gain_most = gain_most;
}

/* Fill the knapsack table from the last job to the first.  False: it is too small. */
static bool fill_table (struct subproblem *subproblem)
{
    if ((int64_t)(subproblem->job_count + 1) * (subproblem->slots + 1) > SUBPROBLEM_TABLE)
        return false;
    cost *after = subproblem_rest (subproblem, subproblem->job_count);
    for (int s = 0; s <= subproblem->slots; s++)
        after[s] = 0;
    for (int i = subproblem->job_count - 1; i >= 0; i--) {
        const struct option_list *list = &subproblem->lists->lists[subproblem->jobs[i]];
        cost *rest = subproblem_rest (subproblem, i);
        for (int s = 0; s <= subproblem->slots; s++)
            rest[s] = COST_MOST;
        for (int c = 0; c < subproblem->usable[i]; c++) {
            int replicas = list->options[c].replicas;
            cost loss =
                list->options[c].loss + replicas * subproblem->surcharge[list->options[c].pool];
            for (int s = replicas; s <= subproblem->slots; s++) {
                cost with = after[s - replicas];
                if (with != COST_MOST && with + loss < rest[s])
                    rest[s] = with + loss;
            }
        }
        after = rest;
    }
    return true;
}

/* Cost of fill_table, in steps of the search. */
static int64_t table_work (const struct subproblem *subproblem)
{
    int64_t options = 0;
    for (int i = 0; i < subproblem->job_count; i++)
        options += subproblem->usable[i];
    return options * (subproblem->slots + 1) / 16 + subproblem->job_count + subproblem->node_count;
}

cost subproblem_bound (struct subproblem *subproblem)
{
    copy_state (subproblem);
    find_usable (subproblem);
    if (subproblem->gain_most <= 0)
        return subproblem->start;
    return fill_table (subproblem)
               ? subproblem_rest (subproblem, 0)[subproblem->slots] - subproblem->refund
               : 0;
}

/* ---- Solving ---- */

/* Put the incumbent into the packing. */
static int put_incumbent (struct subproblem *subproblem)
{
    for (int i = 0; i < subproblem->job_count; i++)
        packing_take (subproblem->packing, subproblem->jobs[i]);
    for (int i = 0; i < subproblem->job_count; i++) {
        struct assignment *given = &subproblem->incumbent[i];
        for (int j = 0; j < given->count; j++)
            given->shares[j].node = subproblem->nodes[given->shares[j].node];
        struct placement placement = {.shares = given->shares, .count = given->count};
        if (packing_put (subproblem->packing, subproblem->jobs[i], given->option, placement) < 0)
            return -1;
    }
    return 0;
}

cost subproblem_solve (struct subproblem *subproblem, int64_t *steps)
{
    copy_state (subproblem);
    find_usable (subproblem);
    *steps -= 1 + subproblem->job_count / 2;
    if (subproblem->gain_most <= 0)
        return 0;
    sort_jobs (subproblem);
    find_usable (subproblem);
    *steps -= table_work (subproblem);
    if (!fill_table (subproblem) ||
        subproblem_rest (subproblem, 0)[subproblem->slots] - subproblem->refund >=
            subproblem->start)
        return 0;
    subproblem->best = subproblem->start;
    subproblem->found = false;
    subproblem->exhaustive =
        subproblem->node_count <= EXHAUSTIVE_NODES && subproblem->slots <= EXHAUSTIVE_SLOTS;
    subproblem->steps = *steps;
    subproblem_branch (subproblem);
    *steps = subproblem->steps;
    if (!subproblem->found)
        return 0;
    return put_incumbent (subproblem) < 0 ? -1 : subproblem->start - subproblem->best;
}
