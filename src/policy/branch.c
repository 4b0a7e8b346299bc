/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch and bound over the plans of a group, in three stages:
 *
 *     1. jobs that could stay    a choice each; who stays is put where it is now
 *     2. who does not stay       a place for the choices made in stage 1, large ones first
 *     3. all other jobs          a choice and a place each, large ones first
 *
 * so that nobody is put where another one could have stayed.  What a plan loses depends on the
 * choices alone; places only have to be found.  Choices are tried in order of regret, and dropped by
 * the two bounds of group.c.  Nodes that look alike (as many free slots, an owner or not, nobody's
 * current placement) are tried once.  A job on several nodes is laid out in a few ways, over the
 * freest nodes, over the fullest, and as the tariff cuts it; in a small group, in all ways.
 */
#include <string.h>

#include "policy/group.h"

/* Where a search stands: jobs whose choice is made, deferred ones that are placed, free slots that
 * are not spoken for, loss and regret of the choices. */
struct state {
    int level, placed, slots;
    worth loss, regret;
};

static void go_on (struct group *group, struct state state);

/* ---- Places ---- */

/* A job has its shares: take the slots, go on, give them back. */
static void occupy (struct group *group, int level, struct state state)
{
    const struct trial *trial = &group->now[level];
    bool owns = trial->count > 1;
    group->steps--;
    for (int i = 0; i < trial->count; i++) {
        group->free[trial->shares[i].node] -= trial->shares[i].replicas;
        group->owned[trial->shares[i].node] |= owns;
    }
    go_on (group, state);
    for (int i = 0; i < trial->count; i++) {
        group->free[trial->shares[i].node] += trial->shares[i].replicas;
        if (owns)
            group->owned[trial->shares[i].node] = false;
    }
}

static void try_keep (struct group *group, int level, struct state state)
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
    occupy (group, level, state);
}

static void try_one (struct group *group, int level, struct state state)
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
                occupy (group, level, state);
            }
        }
}

/* The open node, not used yet, with most free slots, or with fewest but some; -1 if there is none. */
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

/* The open node, not used yet, with fewest slots that are enough; -1. */
static int best_fit (const struct group *group, const bool *used, int replicas)
{
    int best = -1;
    for (int i = 0; i < group->node_count; i++)
        if (!used[i] && !group->owned[i] && group->free[i] >= replicas &&
            (best < 0 || group->free[i] < group->free[best]))
            best = i;
    return best;
}

/* Over the freest or the fullest nodes.  False if that is not possible. */
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
        else if (some == left)
            node = best_fit (group, used, left);
        if (some == 0)
            return false;
        used[node] = true;
        trial->shares[trial->count] = (struct share){.node = node, .replicas = some};
        left -= some;
    }
    return trial->count > 1;
}

/* In the pieces that are cheapest at the tariff. */
static bool lay_out_cut (const struct group *group, struct trial *trial)
{
    const struct tariff *tariff = group->packing->tariff;
    bool used[GROUP_NODES] = {false};
    trial->count = 0;
    for (int left = trial->choice->replicas, piece = tariff->cut[left]; left > 0;
         left -= piece, piece = tariff->rest_cut[left]) {
        int node = best_fit (group, used, piece);
        if (node < 0)
            return false;
        used[node] = true;
        trial->shares[trial->count++] = (struct share){.node = node, .replicas = piece};
    }
    return true;
}

/* All ways to lay `left` replicas out over the nodes from `node` on. */
static void try_all (struct group *group, int level, struct state state, int node, int left)
{
    struct trial *trial = &group->now[level];
    if (left == 0) {
        if (trial->count > 1)
            occupy (group, level, state);
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
        try_all (group, level, state, node + 1, left - some);
        if (some > 0)
            trial->count--;
    }
}

static void try_many (struct group *group, int level, struct state state)
{
    struct trial *trial = &group->now[level];
    if (group->exhaustive) {
        trial->count = 0;
        try_all (group, level, state, 0, trial->choice->replicas);
        return;
    }
    if (lay_out_cut (group, trial))
        occupy (group, level, state);
    for (int freest = 1; freest >= 0; freest--)
        if (lay_out (group, trial, freest))
            occupy (group, level, state);
}

/* A place for the choice of a job. */
static void try_places (struct group *group, int level, struct state state)
{
    switch (group->now[level].choice->where) {
    case WHERE_NONE:
        group->now[level].count = 0;
        occupy (group, level, state);
        break;
    case WHERE_KEEP:
        try_keep (group, level, state);
        break;
    case WHERE_ONE:
        try_one (group, level, state);
        break;
    case WHERE_MANY:
        try_many (group, level, state);
        break;
    case WHERE_BEYOND:
        break;
    }
}

/* ---- Choices ---- */

/* Leave the place for later: into the list of deferred jobs, large ones first. */
static void defer (struct group *group, int level, struct state state)
{
    int *list = group->deferred, at = group->deferred_count++;
    int replicas = group->now[level].choice->replicas;
    for (; at > 0 && group->now[list[at - 1]].choice->replicas < replicas; at--)
        list[at] = list[at - 1];
    list[at] = level;
    go_on (group, state);
    group->deferred_count--;
    for (; at < group->deferred_count; at++)
        list[at] = list[at + 1];
}

static void choose (struct group *group, struct state state)
{
    int level = state.level;
    const struct menu *menu = &group->menus->menus[group->jobs[level]];
    const worth *rest = group_rest (group, level + 1);
    for (int i = 0; i < group->usable[level] && group->steps > 0; i++) {
        const struct choice *choice = &menu->choices[i];
        /* By the tariff: regret is what is lost beyond the bound, and all that follow have more. */
        if (state.regret + choice->regret >= group->most - (group->start - group->best))
            break;
        int left = state.slots - choice->replicas;
        if (choice->where == WHERE_BEYOND || left < 0 || rest[left] == WORTH_MOST ||
            state.loss + choice->loss + rest[left] >= group->best)
            continue;
        struct state next = {.level = level + 1,
                             .placed = state.placed,
                             .slots = left,
                             .loss = state.loss + choice->loss,
                             .regret = state.regret + choice->regret};
        group->now[level].choice = choice;
        bool places = choice->where == WHERE_ONE || choice->where == WHERE_MANY;
        if (level < group->stayers && places)
            defer (group, level, next);
        else
            try_places (group, level, next);
    }
}

static void keep (struct group *group, worth loss)
{
    group->best = loss;
    group->found = true;
    for (int i = 0; i < group->job_count; i++) {
        group->kept[i].choice = group->now[i].choice;
        group->kept[i].count = group->now[i].count;
        memcpy (group->kept[i].shares, group->now[i].shares,
                (size_t)group->now[i].count * sizeof (group->now[i].shares[0]));
    }
}

static void go_on (struct group *group, struct state state)
{
    if (group->steps <= 0)
        return;
    if (state.level < group->stayers) {
        choose (group, state);
    } else if (state.placed < group->deferred_count) {
        /* As good a plan may have been found since these choices were made. */
        worth rest = group_rest (group, state.level)[state.slots];
        if (rest != WORTH_MOST && state.loss + rest < group->best) {
            int level = group->deferred[state.placed++];
            try_places (group, level, state);
        }
    } else if (state.level < group->job_count) {
        choose (group, state);
    } else if (state.loss < group->best) {
        keep (group, state.loss);
    }
}

void group_branch (struct group *group)
{
    group->deferred_count = 0;
    go_on (group, (struct state){.slots = group->slots});
}
