/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch and bound over the plans of a group, in three stages:
 *
 *     1. jobs that could stay    a option each; who stays is put where it is now
 *     2. who does not stay       a place for the options made in stage 1, large ones first
 *     3. all other jobs          a option and a place each, large ones first
 *
 * so that nobody is put where another one could have stayed.  What a plan loses depends on the
 * options alone; places only have to be found.  Choices are tried in order of regret, and dropped by
 * the two bounds of group.c.  Nodes that look alike (as many free slots, an owner or not, nobody's
 * current placement) are tried once.  A job on several nodes is laid out in a few ways, over the
 * freest nodes, over the fullest, and as the tariff cuts it; in a small group, in all ways.
 */
#include <string.h>

#include "solver/subproblem.h"

/* Where a search stands: jobs whose option is made, deferred ones that are placed, free slots that
 * are not spoken for, loss and regret of the options. */
struct state {
    int level, placed, slots;
    cost loss, regret;
};

static void go_on (struct subproblem *subproblem, struct state state);

/* ---- Places ---- */

/* A job has its shares: take the slots, go on, give them back. */
static void occupy (struct subproblem *subproblem, int level, struct state state)
{
    const struct trial *trial = &subproblem->now[level];
    bool owns = trial->count > 1;
    subproblem->steps--;
    for (int i = 0; i < trial->count; i++) {
        subproblem->free[trial->shares[i].node] -= trial->shares[i].replicas;
        subproblem->owned[trial->shares[i].node] |= owns;
    }
    go_on (subproblem, state);
    for (int i = 0; i < trial->count; i++) {
        subproblem->free[trial->shares[i].node] += trial->shares[i].replicas;
        if (owns)
            subproblem->owned[trial->shares[i].node] = false;
    }
}

static void try_keep (struct subproblem *subproblem, int level, struct state state)
{
    struct placement current = subproblem->packing->jobs[subproblem->jobs[level]].current;
    struct trial *trial = &subproblem->now[level];
    if (current.count > subproblem->node_count)
        return;
    trial->count = current.count;
    for (int i = 0; i < current.count; i++) {
        int local = subproblem->packing->local[current.shares[i].node];
        if (local < 0 || subproblem->free[local] < current.shares[i].replicas ||
            (current.count > 1 && subproblem->owned[local]))
            return;
        trial->shares[i] = (struct share){.node = local, .replicas = current.shares[i].replicas};
    }
    occupy (subproblem, level, state);
}

static void try_one (struct subproblem *subproblem, int level, struct state state)
{
    struct trial *trial = &subproblem->now[level];
    int replicas = trial->option->replicas, most = 0;
    trial->count = 1;
    for (int i = 0; i < subproblem->node_count; i++)
        most = most > subproblem->free[i] ? most : subproblem->free[i];
    for (int free = replicas; free <= most; free++)
        for (int owned = 1; owned >= 0; owned--) {
            bool plain_tried = false;
            for (int i = 0; i < subproblem->node_count && subproblem->steps > 0; i++) {
                if (subproblem->free[i] != free || subproblem->owned[i] != (bool)owned ||
                    (!subproblem->marked[i] && plain_tried))
                    continue;
                plain_tried |= !subproblem->marked[i];
                trial->shares[0] = (struct share){.node = i, .replicas = replicas};
                occupy (subproblem, level, state);
            }
        }
}

/* The open node, not used yet, with most free slots, or with fewest but some; -1 if there is none. */
static int next_open (const struct subproblem *subproblem, const bool *used, bool freest)
{
    int best = -1;
    for (int i = 0; i < subproblem->node_count; i++) {
        if (used[i] || subproblem->owned[i] || subproblem->free[i] == 0)
            continue;
        if (best < 0 || (freest ? subproblem->free[i] > subproblem->free[best]
                                : subproblem->free[i] < subproblem->free[best]))
            best = i;
    }
    return best;
}

/* The open node, not used yet, with fewest slots that are enough; -1. */
static int best_fit (const struct subproblem *subproblem, const bool *used, int replicas)
{
    int best = -1;
    for (int i = 0; i < subproblem->node_count; i++)
        if (!used[i] && !subproblem->owned[i] && subproblem->free[i] >= replicas &&
            (best < 0 || subproblem->free[i] < subproblem->free[best]))
            best = i;
    return best;
}

/* Over the freest or the fullest nodes.  False if that is not possible. */
static bool lay_out (const struct subproblem *subproblem, struct trial *trial, bool freest)
{
    bool used[SUBPROBLEM_NODES] = {false};
    int left = trial->option->replicas;
    for (trial->count = 0; left > 0; trial->count++) {
        int node = next_open (subproblem, used, freest);
        if (node < 0)
            return false;
        int some = left < subproblem->free[node] ? left : subproblem->free[node];
        if (some == left && trial->count == 0)
            some--;
        else if (some == left)
            node = best_fit (subproblem, used, left);
        if (some == 0)
            return false;
        used[node] = true;
        trial->shares[trial->count] = (struct share){.node = node, .replicas = some};
        left -= some;
    }
    return trial->count > 1;
}

/* In the pieces that are cheapest at the tariff. */
static bool lay_out_cut (const struct subproblem *subproblem, struct trial *trial)
{
    const struct piece_prices *prices = subproblem->packing->prices;
    bool used[SUBPROBLEM_NODES] = {false};
    trial->count = 0;
    for (int left = trial->option->replicas, piece = prices->cut[left]; left > 0;
         left -= piece, piece = prices->rest_cut[left]) {
        int node = best_fit (subproblem, used, piece);
        if (node < 0)
            return false;
        used[node] = true;
        trial->shares[trial->count++] = (struct share){.node = node, .replicas = piece};
    }
    return true;
}

/* All ways to lay `left` replicas out over the nodes from `node` on. */
static void try_all (struct subproblem *subproblem, int level, struct state state, int node,
                     int left)
{
    struct trial *trial = &subproblem->now[level];
    if (left == 0) {
        if (trial->count > 1)
            occupy (subproblem, level, state);
        return;
    }
    int room = 0;
    for (int i = node; i < subproblem->node_count; i++)
        room += subproblem->owned[i] ? 0 : subproblem->free[i];
    if (room < left)
        return;
    int most = subproblem->owned[node] ? 0 : subproblem->free[node];
    for (int some = most < left ? most : left; some >= 0 && subproblem->steps > 0; some--) {
        if (some > 0)
            trial->shares[trial->count++] = (struct share){.node = node, .replicas = some};
        try_all (subproblem, level, state, node + 1, left - some);
        if (some > 0)
            trial->count--;
    }
}

static void try_many (struct subproblem *subproblem, int level, struct state state)
{
    struct trial *trial = &subproblem->now[level];
    if (subproblem->exhaustive) {
        trial->count = 0;
        try_all (subproblem, level, state, 0, trial->option->replicas);
        return;
    }
    if (lay_out_cut (subproblem, trial))
        occupy (subproblem, level, state);
    for (int freest = 1; freest >= 0; freest--)
        if (lay_out (subproblem, trial, freest))
            occupy (subproblem, level, state);
}

/* A place for the option of a job. */
static void try_places (struct subproblem *subproblem, int level, struct state state)
{
    switch (subproblem->now[level].option->where) {
    case WHERE_NONE:
        subproblem->now[level].count = 0;
        occupy (subproblem, level, state);
        break;
    case WHERE_KEEP:
        try_keep (subproblem, level, state);
        break;
    case WHERE_ONE:
        try_one (subproblem, level, state);
        break;
    case WHERE_MANY:
        try_many (subproblem, level, state);
        break;
    case WHERE_BEYOND:
        break;
    }
}

/* ---- Choices ---- */

/* Leave the place for later: into the list of deferred jobs, large ones first. */
static void defer (struct subproblem *subproblem, int level, struct state state)
{
    int *list = subproblem->deferred, at = subproblem->deferred_count++;
    int replicas = subproblem->now[level].option->replicas;
    for (; at > 0 && subproblem->now[list[at - 1]].option->replicas < replicas; at--)
        list[at] = list[at - 1];
    list[at] = level;
    go_on (subproblem, state);
    subproblem->deferred_count--;
    for (; at < subproblem->deferred_count; at++)
        list[at] = list[at + 1];
}

static void choose (struct subproblem *subproblem, struct state state)
{
    int level = state.level;
    const struct option_list *list = &subproblem->lists->lists[subproblem->jobs[level]];
    const cost *rest = subproblem_rest (subproblem, level + 1);
    for (int i = 0; i < subproblem->usable[level] && subproblem->steps > 0; i++) {
        const struct priced_option *option = &list->options[i];
        /* By the tariff: regret is what is lost beyond the bound, and all that follow have more. */
        if (state.regret + option->regret >=
            subproblem->most - (subproblem->start - subproblem->best))
            break;
        int left = state.slots - option->replicas;
        if (option->where == WHERE_BEYOND || left < 0 || rest[left] == COST_MOST ||
            state.loss + option->loss + rest[left] >= subproblem->best)
            continue;
        struct state next = {.level = level + 1,
                             .placed = state.placed,
                             .slots = left,
                             .loss = state.loss + option->loss,
                             .regret = state.regret + option->regret};
        subproblem->now[level].option = option;
        bool places = option->where == WHERE_ONE || option->where == WHERE_MANY;
        if (level < subproblem->stayers && places)
            defer (subproblem, level, next);
        else
            try_places (subproblem, level, next);
    }
}

static void keep (struct subproblem *subproblem, cost loss)
{
    subproblem->best = loss;
    subproblem->found = true;
    for (int i = 0; i < subproblem->job_count; i++) {
        subproblem->kept[i].option = subproblem->now[i].option;
        subproblem->kept[i].count = subproblem->now[i].count;
        memcpy (subproblem->kept[i].shares, subproblem->now[i].shares,
                (size_t)subproblem->now[i].count * sizeof (subproblem->now[i].shares[0]));
    }
}

static void go_on (struct subproblem *subproblem, struct state state)
{
    if (subproblem->steps <= 0)
        return;
    if (state.level < subproblem->stayers) {
        choose (subproblem, state);
    } else if (state.placed < subproblem->deferred_count) {
        /* As good a plan may have been found since these options were made. */
        cost rest = subproblem_rest (subproblem, state.level)[state.slots];
        if (rest != COST_MOST && state.loss + rest < subproblem->best) {
            int level = subproblem->deferred[state.placed++];
            try_places (subproblem, level, state);
        }
    } else if (state.level < subproblem->job_count) {
        choose (subproblem, state);
    } else if (state.loss < subproblem->best) {
        keep (subproblem, state.loss);
    }
}

void subproblem_branch (struct subproblem *subproblem)
{
    subproblem->deferred_count = 0;
    go_on (subproblem, (struct state){.slots = subproblem->slots});
}
