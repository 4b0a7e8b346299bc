/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes and the jobs on them, and two bounds on what can be gained there: by the tariff,
 * which sees how pieces fit on nodes, and by a table of the knapsack that is left when nodes are
 * forgotten, which sees that slots are whole:
 *
 *     rest[i][s] = the least that jobs i.. lose if they have s slots together
 */
#include "policy/group.h"

#include <stdlib.h>

/* In groups so small a job on several nodes is laid out in all ways. */
enum { EXHAUSTIVE_NODES = 4, EXHAUSTIVE_SLOTS = 16 };

struct group *group_new (const struct menus *menus, struct packing *packing)
{
    struct group *group = arena_take (packing->arena, 1, sizeof (*group));
    int *member = arena_take (packing->arena, (size_t)packing->job_count, sizeof (member[0]));
    if (!group || !member)
        return NULL;
    group->menus = menus;
    group->packing = packing;
    group->member = member;
    group->serial = 0;
    group->node_count = group->job_count = 0;
    for (int i = 0; i < packing->job_count; i++)
        member[i] = -1;
    return group;
}

void group_begin (struct group *group)
{
    for (int i = 0; i < group->node_count; i++)
        group->packing->local[group->nodes[i]] = -1;
    group->node_count = group->job_count = 0;
    group->serial++;
}

bool group_add_node (struct group *group, int node)
{
    int *local = &group->packing->local[node];
    if (*local >= 0 || group->node_count == GROUP_NODES)
        return false;
    *local = group->node_count;
    group->nodes[group->node_count++] = node;
    return true;
}

bool group_add_job (struct group *group, int job)
{
    if (group->job_count == GROUP_JOBS || group->member[job] == group->serial)
        return false;
    group->member[job] = group->serial;
    group->jobs[group->job_count++] = job;
    return true;
}

/* ---- Preparing ---- */

/* A job's place in the order of the search: first those that could stay, of these first who would
 * lose most by not having its best choice; then the others, the largest first. */
struct turn {
    bool stays;
    worth key;
    int job;
};

static struct turn turn_of (const struct group *group, int job)
{
    const struct menu *menu = &group->menus->menus[job];
    struct placement current = menu->job->current;
    struct turn turn = {.key = menu->first->replicas, .job = job};
    for (int i = 0; i < current.count && !turn.stays; i++)
        turn.stays = group->packing->local[current.shares[i].node] >= 0;
    if (turn.stays)
        turn.key = menu->count > 1 ? menu->choices[1].regret : WORTH_MOST;
    return turn;
}

static bool goes_before (const struct turn *a, const struct turn *b)
{
    if (a->stays != b->stays)
        return a->stays;
    return a->key != b->key ? a->key > b->key : a->job < b->job;
}

static void sort_jobs (struct group *group)
{
    struct turn turns[GROUP_JOBS];
    group->stayers = 0;
    for (int i = 0; i < group->job_count; i++) {
        struct turn turn = turn_of (group, group->jobs[i]);
        group->stayers += turn.stays;
        int at = i;
        for (; at > 0 && goes_before (&turn, &turns[at - 1]); at--)
            turns[at] = turns[at - 1];
        turns[at] = turn;
    }
    for (int i = 0; i < group->job_count; i++)
        group->jobs[i] = turns[i].job;
}

/* Copy the nodes' state, with the jobs' own slots given back. */
static void copy_state (struct group *group)
{
    struct packing *packing = group->packing;
    for (int i = 0; i < group->node_count; i++) {
        int node = group->nodes[i];
        group->free[i] = packing->free[node];
        group->owned[i] = packing->owner[node] >= 0;
        group->marked[i] = false;
    }
    group->start = 0;
    for (int i = 0; i < group->job_count; i++) {
        int job = group->jobs[i];
        const struct place *place = &packing->places[job];
        group->start += place->choice->loss;
        for (int j = 0; j < place->count; j++) {
            int local = packing->local[place->shares[j].node];
            group->free[local] += place->shares[j].replicas;
            if (place->count > 1)
                group->owned[local] = false;
        }
        struct placement current = packing->jobs[job].current;
        for (int j = 0; j < current.count; j++) {
            int local = packing->local[current.shares[j].node];
            if (local >= 0)
                group->marked[local] = true;
        }
    }
    group->slots = 0;
    for (int i = 0; i < group->node_count; i++)
        group->slots += group->free[i];
}

/* What a node holds at most, less what others than the group's jobs have there. */
static worth room_on (const struct group *group, int node)
{
    const struct packing *packing = group->packing;
    worth room = packing_slack (packing, group->menus, node);
    for (int i = 0; i < packing->count[node]; i++) {
        int job = packing->tenants[packing->first[node] + i];
        if (group->member[job] == group->serial)
            room += packing_piece (packing, job, node);
    }
    return room;
}

/* No way to place the jobs loses less than the sum of their least costs, less what the nodes have
 * room for.  So a choice with more regret than what is above that now is part of nothing better. */
static void find_usable (struct group *group)
{
    worth most = group->start;
    for (int i = 0; i < group->node_count; i++)
        most += room_on (group, group->nodes[i]);
    for (int i = 0; i < group->job_count; i++)
        most -= group->menus->menus[group->jobs[i]].least;
    for (int i = 0; i < group->job_count; i++) {
        const struct menu *menu = &group->menus->menus[group->jobs[i]];
        int count = 0;
        while (count < menu->count && menu->choices[count].regret <= most)
            count++;
        group->usable[i] = count;
    }
    group->most = most;
}

/* The table of the knapsack, from the last job to the first. */
static bool fill_table (struct group *group)
{
    if ((int64_t)(group->job_count + 1) * (group->slots + 1) > GROUP_TABLE)
        return false;
    worth *after = group_rest (group, group->job_count);
    for (int s = 0; s <= group->slots; s++)
        after[s] = 0;
    for (int i = group->job_count - 1; i >= 0; i--) {
        const struct menu *menu = &group->menus->menus[group->jobs[i]];
        worth *rest = group_rest (group, i);
        for (int s = 0; s <= group->slots; s++)
            rest[s] = WORTH_MOST;
        for (int c = 0; c < group->usable[i]; c++) {
            int replicas = menu->choices[c].replicas;
            worth loss = menu->choices[c].loss;
            for (int s = replicas; s <= group->slots; s++) {
                worth with = after[s - replicas];
                if (with != WORTH_MOST && with + loss < rest[s])
                    rest[s] = with + loss;
            }
        }
        after = rest;
    }
    return true;
}

/* What preparing costs, in steps of the search. */
static int64_t table_work (const struct group *group)
{
    int64_t choices = 0;
    for (int i = 0; i < group->job_count; i++)
        choices += group->usable[i];
    return choices * (group->slots + 1) / 16 + group->job_count + group->node_count;
}

worth group_bound (struct group *group)
{
    copy_state (group);
    find_usable (group);
    if (group->most <= 0)
        return group->start;
    return fill_table (group) ? group_rest (group, 0)[group->slots] : 0;
}

/* ---- Solving ---- */

static int put_kept (struct group *group)
{
    for (int i = 0; i < group->job_count; i++)
        packing_take (group->packing, group->jobs[i]);
    for (int i = 0; i < group->job_count; i++) {
        struct trial *trial = &group->kept[i];
        for (int j = 0; j < trial->count; j++)
            trial->shares[j].node = group->nodes[trial->shares[j].node];
        struct placement placement = {.shares = trial->shares, .count = trial->count};
        if (packing_put (group->packing, group->jobs[i], trial->choice, placement) < 0)
            return -1;
    }
    return 0;
}

worth group_solve (struct group *group, int64_t *steps)
{
    copy_state (group);
    find_usable (group);
    *steps -= 1 + group->job_count / 2;
    if (group->most <= 0)
        return 0;
    sort_jobs (group);
    find_usable (group);
    *steps -= table_work (group);
    if (!fill_table (group) || group_rest (group, 0)[group->slots] >= group->start)
        return 0;
    group->best = group->start;
    group->found = false;
    group->exhaustive = group->node_count <= EXHAUSTIVE_NODES && group->slots <= EXHAUSTIVE_SLOTS;
    group->steps = *steps;
    group_branch (group);
    *steps = group->steps;
    if (!group->found)
        return 0;
    return put_kept (group) < 0 ? -1 : group->start - group->best;
}
