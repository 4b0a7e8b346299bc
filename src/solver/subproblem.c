/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects nodes and jobs, and computes two bounds for the search: by the prices, which know how
 * pieces fit on nodes; and by the knapsack that ignores nodes, which knows that slots are whole:
 *
 *     rest[i][s] = least loss of the jobs i.. with s slots together
 *
 * Every pool has such a knapsack.  It counts the slots of its pool exactly, and slots of the other pools
 * have a price (Lagrangian relaxation of their number).  The largest of these bounds is used.
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

struct subproblem *subproblem_new (const struct option_lists *lists, struct packing *packing)
{
    struct subproblem *subproblem = arena_take (packing->arena, 1, sizeof (*subproblem));
    int *member = arena_take (packing->arena, (size_t)packing->job_count, sizeof (member[0]));
    struct knapsack *knapsacks =
        arena_take (packing->arena, (size_t)packing->pool_count, sizeof (knapsacks[0]));
    if (!subproblem || !member || !knapsacks)
        return NULL;
    for (int i = 0; i < packing->pool_count; i++)
        knapsacks[i] = (struct knapsack){.price = slot_price (packing, i)};
    subproblem->lists = lists;
    subproblem->packing = packing;
    subproblem->member = member;
    subproblem->knapsacks = knapsacks;
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

/* The order of the search: first the jobs that may keep their placement, the most urgent first; then the
 * others, with one pool the largest first.  With several pools it matters more who gets slots of the
 * scarce one than how sizes fit: then the most urgent are first here, too. */
struct rank {
    bool keeps;
    cost key;
    int job;
};

static struct rank rank_of (const struct subproblem *subproblem, int job)
{
    const struct option_list *list = &subproblem->lists->lists[job];
    struct placement current = list->job->current;
    struct rank rank = {.job = job};
    for (int i = 0; i < current.count && !rank.keeps; i++)
        rank.keeps = subproblem->packing->local[current.shares[i].node] >= 0;
    rank.key = rank.keeps || subproblem->packing->pool_count > 1 ? option_list_urgency (list)
                                                                 : list->first->replicas;
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
    for (int i = 0; i < packing->pool_count; i++)
        subproblem->knapsacks[i].slots = 0;
    for (int i = 0; i < subproblem->node_count; i++) {
        subproblem->slots += subproblem->free[i];
        subproblem->knapsacks[subproblem->pool[i]].slots += subproblem->free[i];
    }
    for (int i = 0; i < packing->pool_count; i++)
        subproblem->knapsacks[i].left = subproblem->knapsacks[i].slots;
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

static cost with_price (const struct subproblem *subproblem, const struct priced_option *option)
{
    return option->loss + option->replicas * subproblem->knapsacks[option->pool].price;
}

/* The least loss plus price of a job's usable options that need no slots of the pool; COST_MOST: it has
 * none. */
static cost least_elsewhere (const struct subproblem *subproblem, int i, int pool)
{
    const struct priced_option *options = subproblem->lists->lists[subproblem->jobs[i]].options;
    cost least = COST_MOST;
    for (int c = 0; c < subproblem->usable[i]; c++)
        if (options[c].pool != pool || options[c].replicas == 0) {
            cost total = with_price (subproblem, &options[c]);
            least = total < least ? total : least;
        }
    return least;
}

/* A row of a pool's knapsack, from the row of the next job. */
static void fill_row (const struct subproblem *subproblem, int pool, int i)
{
    const struct knapsack *knapsack = &subproblem->knapsacks[pool];
    const struct priced_option *options = subproblem->lists->lists[subproblem->jobs[i]].options;
    cost *rest = &knapsack->rest[i * (knapsack->slots + 1)];
    const cost *after = rest + knapsack->slots + 1;
    cost elsewhere = least_elsewhere (subproblem, i, pool);
    for (int s = 0; s <= knapsack->slots; s++)
        rest[s] =
            elsewhere != COST_MOST && after[s] != COST_MOST ? after[s] + elsewhere : COST_MOST;
    for (int c = 0; c < subproblem->usable[i]; c++) {
        int replicas = options[c].replicas;
        if (options[c].pool != pool || replicas == 0)
            continue;
        cost total = with_price (subproblem, &options[c]);
        for (int s = replicas; s <= knapsack->slots; s++) {
            cost with = after[s - replicas];
            if (with != COST_MOST && with + total < rest[s])
                rest[s] = with + total;
        }
    }
}

/* Fill the knapsack tables from the last job to the first.  False: there is too little memory. */
static bool fill_tables (struct subproblem *subproblem)
{
    int pool_count = subproblem->packing->pool_count;
    int64_t rows = subproblem->job_count + 1;
    if (rows * (subproblem->slots + pool_count) > SUBPROBLEM_TABLE)
        return false;
    cost *memory = subproblem->rest;
    for (int pool = 0; pool < pool_count; pool++) {
        struct knapsack *knapsack = &subproblem->knapsacks[pool];
        knapsack->rest = memory;
        memory += rows * (knapsack->slots + 1);
        for (int s = 0; s <= knapsack->slots; s++)
            memory[s - knapsack->slots - 1] = s * knapsack->price;
        for (int i = subproblem->job_count - 1; i >= 0; i--)
            fill_row (subproblem, pool, i);
    }
    return true;
}

/* Cost of fill_tables, in steps of the search. */
static int64_t table_work (const struct subproblem *subproblem)
{
    int64_t entries = 0;
    for (int i = 0; i < subproblem->job_count; i++) {
        const struct priced_option *options = subproblem->lists->lists[subproblem->jobs[i]].options;
        for (int c = 0; c < subproblem->usable[i]; c++)
            entries += subproblem->knapsacks[options[c].pool].slots + 1;
    }
    return entries / 16 + subproblem->job_count + subproblem->node_count;
}

cost subproblem_free_price (const struct subproblem *subproblem)
{
    cost sum = 0;
    for (int i = 0; i < subproblem->packing->pool_count; i++)
        sum += subproblem->knapsacks[i].left * subproblem->knapsacks[i].price;
    return sum;
}

cost subproblem_bound (struct subproblem *subproblem)
{
    copy_state (subproblem);
    find_usable (subproblem);
    if (subproblem->gain_most <= 0)
        return subproblem->start;
    return fill_tables (subproblem)
               ? subproblem_rest (subproblem, 0) - subproblem_free_price (subproblem)
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
    if (!fill_tables (subproblem) ||
        subproblem_rest (subproblem, 0) - subproblem_free_price (subproblem) >= subproblem->start)
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
