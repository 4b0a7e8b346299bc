/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes and the jobs on them, and two bounds on what can be gained there: by the tariff,
 * which sees how pieces fit on nodes, and by a table of the knapsack that is left when nodes are
 * forgotten, which sees that slots are whole:
 *
 *     rest[i][s] = the least that jobs i.. lose if they have s slots together
 */
#include "solver/subproblem.h"

#include <stdlib.h>

/* In groups so small a job on several nodes is laid out in all ways. */
enum { EXHAUSTIVE_NODES = 4, EXHAUSTIVE_SLOTS = 16 };

struct subproblem *subproblem_new (const struct option_lists *lists, struct packing *packing)
{
    struct subproblem *subproblem = arena_take (packing->arena, 1, sizeof (*subproblem));
    int *member = arena_take (packing->arena, (size_t)packing->job_count, sizeof (member[0]));
    if (!subproblem || !member)
        return NULL;
    subproblem->lists = lists;
    subproblem->packing = packing;
    subproblem->member = member;
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

/* A job's place in the order of the search: first those that could stay, of these first who would
 * lose most by not having its best option; then the others, the largest first. */
struct turn {
    bool stays;
    cost key;
    int job;
};

static struct turn turn_of (const struct subproblem *subproblem, int job)
{
    const struct option_list *list = &subproblem->lists->lists[job];
    struct placement current = list->job->current;
    struct turn turn = {.key = list->first->replicas, .job = job};
    for (int i = 0; i < current.count && !turn.stays; i++)
        turn.stays = subproblem->packing->local[current.shares[i].node] >= 0;
    if (turn.stays)
        turn.key = list->count > 1 ? list->options[1].regret : COST_MOST;
    return turn;
}

static bool goes_before (const struct turn *a, const struct turn *b)
{
    if (a->stays != b->stays)
        return a->stays;
    return a->key != b->key ? a->key > b->key : a->job < b->job;
}

static void sort_jobs (struct subproblem *subproblem)
{
    struct turn turns[SUBPROBLEM_JOBS];
    subproblem->stayers = 0;
    for (int i = 0; i < subproblem->job_count; i++) {
        struct turn turn = turn_of (subproblem, subproblem->jobs[i]);
        subproblem->stayers += turn.stays;
        int at = i;
        for (; at > 0 && goes_before (&turn, &turns[at - 1]); at--)
            turns[at] = turns[at - 1];
        turns[at] = turn;
    }
    for (int i = 0; i < subproblem->job_count; i++)
        subproblem->jobs[i] = turns[i].job;
}

/* Copy the nodes' state, with the jobs' own slots given back. */
static void copy_state (struct subproblem *subproblem)
{
    struct packing *packing = subproblem->packing;
    for (int i = 0; i < subproblem->node_count; i++) {
        int node = subproblem->nodes[i];
        subproblem->free[i] = packing->free[node];
        subproblem->owned[i] = packing->owner[node] >= 0;
        subproblem->marked[i] = false;
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
                subproblem->owned[local] = false;
        }
        struct placement current = packing->jobs[job].current;
        for (int j = 0; j < current.count; j++) {
            int local = packing->local[current.shares[j].node];
            if (local >= 0)
                subproblem->marked[local] = true;
        }
    }
    subproblem->slots = 0;
    for (int i = 0; i < subproblem->node_count; i++)
        subproblem->slots += subproblem->free[i];
}

/* What a node holds at most, less what others than the group's jobs have there. */
static cost room_on (const struct subproblem *subproblem, int node)
{
    const struct packing *packing = subproblem->packing;
    cost room = packing_slack (packing, subproblem->lists, node);
    for (int i = 0; i < packing->count[node]; i++) {
        int job = packing->tenants[packing->first[node] + i];
        if (subproblem->member[job] == subproblem->serial)
            room += packing_piece (packing, job, node);
    }
    return room;
}

/* No way to place the jobs loses less than the sum of their least costs, less what the nodes have
 * room for.  So a option with more regret than what is above that now is part of nothing better. */
static void find_usable (struct subproblem *subproblem)
{
    cost most = subproblem->start;
    for (int i = 0; i < subproblem->node_count; i++)
        most += room_on (subproblem, subproblem->nodes[i]);
    for (int i = 0; i < subproblem->job_count; i++)
        most -= subproblem->lists->lists[subproblem->jobs[i]].least;
    for (int i = 0; i < subproblem->job_count; i++) {
        const struct option_list *list = &subproblem->lists->lists[subproblem->jobs[i]];
        int count = 0;
        while (count < list->count && list->options[count].regret <= most)
            count++;
        subproblem->usable[i] = count;
    }
    subproblem->most = most;
}

/* The table of the knapsack, from the last job to the first. */
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
            cost loss = list->options[c].loss;
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

/* What preparing costs, in steps of the search. */
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
    if (subproblem->most <= 0)
        return subproblem->start;
    return fill_table (subproblem) ? subproblem_rest (subproblem, 0)[subproblem->slots] : 0;
}

/* ---- Solving ---- */

static int put_kept (struct subproblem *subproblem)
{
    for (int i = 0; i < subproblem->job_count; i++)
        packing_take (subproblem->packing, subproblem->jobs[i]);
    for (int i = 0; i < subproblem->job_count; i++) {
        struct trial *trial = &subproblem->kept[i];
        for (int j = 0; j < trial->count; j++)
            trial->shares[j].node = subproblem->nodes[trial->shares[j].node];
        struct placement placement = {.shares = trial->shares, .count = trial->count};
        if (packing_put (subproblem->packing, subproblem->jobs[i], trial->option, placement) < 0)
            return -1;
    }
    return 0;
}

cost subproblem_solve (struct subproblem *subproblem, int64_t *steps)
{
    copy_state (subproblem);
    find_usable (subproblem);
    *steps -= 1 + subproblem->job_count / 2;
    if (subproblem->most <= 0)
        return 0;
    sort_jobs (subproblem);
    find_usable (subproblem);
    *steps -= table_work (subproblem);
    if (!fill_table (subproblem) ||
        subproblem_rest (subproblem, 0)[subproblem->slots] >= subproblem->start)
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
    return put_kept (subproblem) < 0 ? -1 : subproblem->start - subproblem->best;
}
