/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of nodes and the jobs on them, solved by branch and bound.  Jobs are placed one after
 * the other, the largest first, their choices in order of regret.  The bound is exact for the
 * knapsack that is left when nodes are forgotten:
 *
 *     rest[i][s] = the least that jobs i.. lose if they have s slots together
 *
 * so that what is searched is only how far the nodes stand in the way of the knapsack's optimum.
 * Nodes that look alike (as many free slots, an owner or not, nobody's current placement) are
 * tried once.  A job on several nodes is laid out in two ways, over the freest nodes and over
 * the fullest; in a group of few nodes, in all ways.
 */
#include "policy/group.h"

#include <stdlib.h>
#include <string.h>

enum { EXHAUSTIVE_NODES = 4, EXHAUSTIVE_SLOTS = 16 };

/* What has been decided for one job: a choice, and its shares (nodes by their place in the
 * group). */
struct trial {
    const struct choice *choice;
    int count;
    struct share shares[GROUP_NODES];
};

struct group {
    const struct menus *menus;
    struct packing *packing;
    int nodes[GROUP_NODES], free[GROUP_NODES];
    bool owned[GROUP_NODES];
    bool marked[GROUP_NODES]; /* a current placement is here: the node is like no other */
    int node_count;
    int jobs[GROUP_JOBS];
    int job_count;
    int slots;   /* free, with the jobs' own */
    worth start; /* what the jobs lose now */
    worth best;
    bool found, exhaustive;
    int64_t steps;
    struct trial now[GROUP_JOBS], kept[GROUP_JOBS];
    worth rest[GROUP_TABLE];
};

struct group *group_new (const struct menus *menus, struct packing *packing)
{
    struct group *group = arena_take (packing->arena, 1, sizeof (*group));
    if (group) {
        group->menus = menus;
        group->packing = packing;
        group->node_count = group->job_count = 0;
    }
    return group;
}

void group_begin (struct group *group)
{
    for (int i = 0; i < group->node_count; i++)
        group->packing->local[group->nodes[i]] = -1;
    group->node_count = group->job_count = 0;
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
    if (group->job_count == GROUP_JOBS)
        return false;
    for (int i = 0; i < group->job_count; i++)
        if (group->jobs[i] == job)
            return false;
    group->jobs[group->job_count++] = job;
    return true;
}

/* Multi-node and large jobs first: they are the hardest to place. */
static void sort_jobs (struct group *group)
{
    for (int i = 1; i < group->job_count; i++) {
        int job = group->jobs[i], at = i;
        int size = group->menus->menus[job].choices[0].replicas;
        for (; at > 0; at--) {
            int before = group->jobs[at - 1];
            int larger = group->menus->menus[before].choices[0].replicas;
            if (larger > size || (larger == size && before < job))
                break;
            group->jobs[at] = before;
        }
        group->jobs[at] = job;
    }
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
        group->start += place->choice ? place->choice->loss : 0;
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

static worth *rest_of (struct group *group, int job)
{
    return &group->rest[(size_t)job * (size_t)(group->slots + 1)];
}

/* The table of the bound, from the last job to the first. */
static bool fill_table (struct group *group)
{
    if ((int64_t)(group->job_count + 1) * (group->slots + 1) > GROUP_TABLE)
        return false;
    worth *after = rest_of (group, group->job_count);
    for (int s = 0; s <= group->slots; s++)
        after[s] = 0;
    for (int i = group->job_count - 1; i >= 0; i--) {
        const struct menu *menu = &group->menus->menus[group->jobs[i]];
        worth *rest = rest_of (group, i);
        for (int s = 0; s <= group->slots; s++)
            rest[s] = WORTH_MOST;
        for (int c = 0; c < menu->count; c++) {
            int replicas = menu->choices[c].replicas;
            worth loss = menu->choices[c].loss;
            for (int s = replicas; s <= group->slots; s++) {
                if (after[s - replicas] == WORTH_MOST)
                    continue;
                worth with = after[s - replicas] + loss;
                rest[s] = with < rest[s] ? with : rest[s];
            }
        }
        after = rest;
    }
    return true;
}

worth group_bound (struct group *group)
{
    copy_state (group);
    return fill_table (group) ? rest_of (group, 0)[group->slots] : 0;
}

static void search (struct group *group, int level, int slots, worth loss);

/* The job of this level has its shares: go on with the next. */
static void descend (struct group *group, int level, int slots, worth loss)
{
    struct trial *trial = &group->now[level];
    group->steps--;
    bool owns = trial->count > 1;
    for (int i = 0; i < trial->count; i++) {
        group->free[trial->shares[i].node] -= trial->shares[i].replicas;
        group->owned[trial->shares[i].node] |= owns;
    }
    search (group, level + 1, slots - trial->choice->replicas, loss + trial->choice->loss);
    for (int i = 0; i < trial->count; i++) {
        group->free[trial->shares[i].node] += trial->shares[i].replicas;
        if (owns)
            group->owned[trial->shares[i].node] = false;
    }
}

static void try_keep (struct group *group, int level, int slots, worth loss)
{
    struct placement current = group->packing->jobs[group->jobs[level]].current;
    struct trial *trial = &group->now[level];
    if (current.count > group->node_count)
        return;
    trial->count = current.count;
    for (int i = 0; i < current.count; i++) {
        int local = group->packing->local[current.shares[i].node];
        if (local < 0 || group->free[local] < current.shares[i].replicas ||
            (current.count > 1 && group->owned[local]))
            return;
        trial->shares[i] = (struct share){.node = local, .replicas = current.shares[i].replicas};
    }
    descend (group, level, slots, loss);
}

static void try_one (struct group *group, int level, int slots, worth loss)
{
    struct trial *trial = &group->now[level];
    int replicas = trial->choice->replicas, most = 0;
    trial->count = 1;
    for (int i = 0; i < group->node_count; i++)
        most = most > group->free[i] ? most : group->free[i];
    for (int free = replicas; free <= most; free++)
        for (int owned = 1; owned >= 0; owned--) {
            bool plain_tried = false;
            for (int i = 0; i < group->node_count && group->steps > 0; i++) {
                if (group->free[i] != free || group->owned[i] != (bool)owned ||
                    (!group->marked[i] && plain_tried))
                    continue;
                plain_tried |= !group->marked[i];
                trial->shares[0] = (struct share){.node = i, .replicas = replicas};
                descend (group, level, slots, loss);
            }
        }
}

/* The node without an owner, not yet in the trial, with most free slots, or with fewest but
 * some; -1 if there is none. */
static int next_open (const struct group *group, const bool *used, bool freest)
{
    int best = -1;
    for (int i = 0; i < group->node_count; i++) {
        if (used[i] || group->owned[i] || group->free[i] == 0)
            continue;
        if (best < 0 ||
            (freest ? group->free[i] > group->free[best] : group->free[i] < group->free[best]))
            best = i;
    }
    return best;
}

/* Lay the replicas out over the freest or the fullest nodes.  False if that is not possible. */
static bool lay_out (const struct group *group, struct trial *trial, bool freest)
{
    bool used[GROUP_NODES] = {false};
    int left = trial->choice->replicas;
    for (trial->count = 0; left > 0; trial->count++) {
        int node = next_open (group, used, freest);
        if (node < 0)
            return false;
        int some = left < group->free[node] ? left : group->free[node];
        if (some == left && trial->count == 0)
            some--;
        else if (some == left) /* the last share goes where it fits best */
            for (int i = 0; i < group->node_count; i++)
                if (!used[i] && !group->owned[i] && group->free[i] >= left &&
                    group->free[i] < group->free[node])
                    node = i;
        if (some == 0)
            return false;
        used[node] = true;
        trial->shares[trial->count] = (struct share){.node = node, .replicas = some};
        left -= some;
    }
    return trial->count > 1;
}

/* All ways to lay `left` replicas out over the nodes from `node` on. */
static void try_all (struct group *group, int level, int slots, worth loss, int node, int left)
{
    struct trial *trial = &group->now[level];
    if (left == 0) {
        if (trial->count > 1)
            descend (group, level, slots, loss);
        return;
    }
    int room = 0;
    for (int i = node; i < group->node_count; i++)
        room += group->owned[i] ? 0 : group->free[i];
    if (room < left)
        return;
    int most = group->owned[node] ? 0 : group->free[node];
    for (int some = most < left ? most : left; some >= 0 && group->steps > 0; some--) {
        if (some > 0)
            trial->shares[trial->count++] = (struct share){.node = node, .replicas = some};
        try_all (group, level, slots, loss, node + 1, left - some);
        if (some > 0)
            trial->count--;
    }
}

static void try_many (struct group *group, int level, int slots, worth loss)
{
    struct trial *trial = &group->now[level];
    if (group->exhaustive) {
        trial->count = 0;
        try_all (group, level, slots, loss, 0, trial->choice->replicas);
        return;
    }
    for (int freest = 1; freest >= 0; freest--)
        if (lay_out (group, trial, freest))
            descend (group, level, slots, loss);
}

static void search (struct group *group, int level, int slots, worth loss)
{
    if (level == group->job_count) {
        if (loss < group->best) {
            group->best = loss;
            group->found = true;
            for (int i = 0; i < level; i++) {
                group->kept[i].choice = group->now[i].choice;
                group->kept[i].count = group->now[i].count;
                memcpy (group->kept[i].shares, group->now[i].shares,
                        (size_t)group->now[i].count * sizeof (group->now[i].shares[0]));
            }
        }
        return;
    }
    const struct menu *menu = &group->menus->menus[group->jobs[level]];
    const worth *rest = rest_of (group, level + 1);
    for (int i = 0; i < menu->count && group->steps > 0; i++) {
        const struct choice *choice = &menu->choices[i];
        if (choice->replicas > slots || rest[slots - choice->replicas] == WORTH_MOST ||
            loss + choice->loss + rest[slots - choice->replicas] >= group->best)
            continue;
        group->now[level].choice = choice;
        group->now[level].count = 0;
        switch (choice->where) {
        case WHERE_NONE:
            descend (group, level, slots, loss);
            break;
        case WHERE_KEEP:
            try_keep (group, level, slots, loss);
            break;
        case WHERE_ONE:
            try_one (group, level, slots, loss);
            break;
        case WHERE_MANY:
            try_many (group, level, slots, loss);
            break;
        }
    }
}

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
    sort_jobs (group);
    copy_state (group);
    group->exhaustive = group->node_count <= EXHAUSTIVE_NODES && group->slots <= EXHAUSTIVE_SLOTS;
    if (!fill_table (group) || rest_of (group, 0)[group->slots] >= group->start) {
        --*steps;
        return 0;
    }
    group->best = group->start;
    group->found = false;
    group->steps = *steps;
    search (group, 0, group->slots, 0);
    *steps = group->steps - 1;
    if (!group->found)
        return 0;
    return put_kept (group) < 0 ? -1 : group->start - group->best;
}
