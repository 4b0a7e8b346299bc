/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch and bound over the plans of a subproblem, in three stages:
 *
 *     1. jobs that may keep their placement   an option each; those that keep it are placed
 *     2. the rest of these jobs               a place for the option of stage 1, large ones first
 *     3. all other jobs                       an option and a place each, large ones first
 *
 * so that no job takes slots that another one could keep.  The loss depends on the options alone;
 * for places the search only looks for a fit.  Options are tried by rising regret and pruned by the
 * two bounds of subproblem.c.  Of nodes that are the same (free slots, use by a job on several
 * nodes, no current placement) one is tried.  A job is split over several nodes in three ways: over
 * the nodes with most free slots, over those with fewest, and by the prices; in a small
 * subproblem, in all ways.
 */
#include <string.h>

#include "solver/subproblem.h"

/* A node of the search tree. */
struct state {
    int level;         /* jobs with an option */
    int placed;        /* deferred jobs with a place */
    cost free_price;   /* of the slots that the chosen options leave */
    cost loss, regret; /* sums over the chosen options */
};

static void search_from (struct subproblem *subproblem, struct state state);

/* ---- Places ---- */

/* Take the slots of a job's shares, search on, give them back. */
static void search_with (struct subproblem *subproblem, int level, struct state state)
{
    const struct assignment *given = &subproblem->now[level];
    bool several = given->count > 1;
    subproblem->steps--;
    for (int i = 0; i < given->count; i++) {
        subproblem->free[given->shares[i].node] -= given->shares[i].replicas;
        subproblem->multi[given->shares[i].node] |= several;
    }
    search_from (subproblem, state);
    for (int i = 0; i < given->count; i++) {
        subproblem->free[given->shares[i].node] += given->shares[i].replicas;
        if (several)
            subproblem->multi[given->shares[i].node] = false;
    }
}

static void try_keep (struct subproblem *subproblem, int level, struct state state)
{
    struct placement current = subproblem->packing->jobs[subproblem->jobs[level]].current;
    struct assignment *given = &subproblem->now[level];
    if (current.count > subproblem->node_count)
        return;
    given->count = current.count;
    for (int i = 0; i < current.count; i++) {
        int local = subproblem->packing->local[current.shares[i].node];
        if (local < 0 || subproblem->free[local] < current.shares[i].replicas ||
            (current.count > 1 && subproblem->multi[local]))
            return;
        given->shares[i] = (struct share){.node = local, .replicas = current.shares[i].replicas};
    }
    search_with (subproblem, level, state);
}

/* Nodes for a piece in the order in which they are tried. */
struct fits {
    int nodes[SUBPROBLEM_NODES];
    int keys
        [SUBPROBLEM_NODES]; /* rising: fewest free slots, then those that a job on several uses */
    int count;
};

/* Add a node by its key behind those with the same one, unless one of them is the same node for the
 * search. */
static void fits_add (struct fits *fits, const struct subproblem *subproblem, int node)
{
    int key = 2 * subproblem->free[node] + !subproblem->multi[node], at = fits->count;
    while (at > 0 && fits->keys[at - 1] > key)
        at--;
    if (!subproblem->special[node])
        for (int i = at; i > 0 && fits->keys[i - 1] == key; i--)
            if (!subproblem->special[fits->nodes[i - 1]])
                return;
    for (int i = fits->count++; i > at; i--) {
        fits->keys[i] = fits->keys[i - 1];
        fits->nodes[i] = fits->nodes[i - 1];
    }
    fits->keys[at] = key;
    fits->nodes[at] = node;
}

static void try_one (struct subproblem *subproblem, int level, struct state state)
{
    struct assignment *given = &subproblem->now[level];
    int replicas = given->option->replicas, pool = given->option->pool;
    struct fits fits;
    fits.count = 0;
    for (int i = 0; i < subproblem->node_count; i++)
        if (subproblem->pool[i] == pool && subproblem->free[i] >= replicas)
            fits_add (&fits, subproblem, i);
    given->count = 1;
    for (int i = 0; i < fits.count && subproblem->steps > 0; i++) {
        given->shares[0] = (struct share){.node = fits.nodes[i], .replicas = replicas};
        search_with (subproblem, level, state);
    }
}

/* May a job on several nodes of the pool use this one? */
static bool is_open (const struct subproblem *subproblem, int node, int pool)
{
    return !subproblem->multi[node] && subproblem->pool[node] == pool;
}

/* The unused open node of a pool with most free slots, or with fewest (but one at least); -1: none. */
static int next_open (const struct subproblem *subproblem, int pool, const bool *used, bool freest)
{
    int best = -1;
    for (int i = 0; i < subproblem->node_count; i++) {
        if (used[i] || !is_open (subproblem, i, pool) || subproblem->free[i] == 0)
            continue;
        if (best < 0 || (freest ? subproblem->free[i] > subproblem->free[best]
                                : subproblem->free[i] < subproblem->free[best]))
            best = i;
    }
    return best;
}

/* The unused open node of a pool with fewest free slots that suffice; -1: none. */
static int best_fit (const struct subproblem *subproblem, int pool, const bool *used, int replicas)
{
    int best = -1;
    for (int i = 0; i < subproblem->node_count; i++)
        if (!used[i] && is_open (subproblem, i, pool) && subproblem->free[i] >= replicas &&
            (best < 0 || subproblem->free[i] < subproblem->free[best]))
            best = i;
    return best;
}

/* Split over the nodes with most, or fewest, free slots.  False: it does not fit. */
static bool split_by_free (const struct subproblem *subproblem, struct assignment *given,
                           bool freest)
{
    bool used[SUBPROBLEM_NODES] = {false};
    int left = given->option->replicas, pool = given->option->pool;
    for (given->count = 0; left > 0; given->count++) {
        int node = next_open (subproblem, pool, used, freest);
        if (node < 0)
            return false;
        int some = left < subproblem->free[node] ? left : subproblem->free[node];
        if (some == left && given->count == 0)
            some--;
        else if (some == left)
            node = best_fit (subproblem, pool, used, left);
        if (some == 0)
            return false;
        used[node] = true;
        given->shares[given->count] = (struct share){.node = node, .replicas = some};
        left -= some;
    }
    return given->count > 1;
}

/* Split into the pieces that are cheapest.  False: they do not fit. */
static bool split_by_price (const struct subproblem *subproblem, struct assignment *given)
{
    int pool = given->option->pool;
    const struct piece_prices *prices = &subproblem->packing->prices[pool];
    bool used[SUBPROBLEM_NODES] = {false};
    given->count = 0;
    for (int left = given->option->replicas, piece = prices->many_piece[left]; left > 0;
         left -= piece, piece = prices->rest_piece[left]) {
        int node = best_fit (subproblem, pool, used, piece);
        if (node < 0)
            return false;
        used[node] = true;
        given->shares[given->count++] = (struct share){.node = node, .replicas = piece};
    }
    return true;
}

/* Try all ways to split `left` replicas over the nodes from `node` on. */
static void try_splits (struct subproblem *subproblem, int level, struct state state, int node,
                        int left)
{
    struct assignment *given = &subproblem->now[level];
    int pool = given->option->pool;
    if (left == 0) {
        if (given->count > 1)
            search_with (subproblem, level, state);
        return;
    }
    int room = 0;
    for (int i = node; i < subproblem->node_count; i++)
        room += is_open (subproblem, i, pool) ? subproblem->free[i] : 0;
    if (room < left)
        return;
    int most = is_open (subproblem, node, pool) ? subproblem->free[node] : 0;
    for (int some = most < left ? most : left; some >= 0 && subproblem->steps > 0; some--) {
        if (some > 0)
            given->shares[given->count++] = (struct share){.node = node, .replicas = some};
        try_splits (subproblem, level, state, node + 1, left - some);
        if (some > 0)
            given->count--;
    }
}

static void try_many (struct subproblem *subproblem, int level, struct state state)
{
    struct assignment *given = &subproblem->now[level];
    if (subproblem->exhaustive) {
        given->count = 0;
        try_splits (subproblem, level, state, 0, given->option->replicas);
        return;
    }
    if (split_by_price (subproblem, given))
        search_with (subproblem, level, state);
    for (int freest = 1; freest >= 0; freest--)
        if (split_by_free (subproblem, given, freest))
            search_with (subproblem, level, state);
}

/* Try places for the option of a job. */
static void try_places (struct subproblem *subproblem, int level, struct state state)
{
    switch (subproblem->now[level].option->where) {
    case WHERE_NONE:
        subproblem->now[level].count = 0;
        search_with (subproblem, level, state);
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

/* ---- Options ---- */

/* Put a job into the list of deferred jobs, large ones first, and search on. */
static void defer (struct subproblem *subproblem, int level, struct state state)
{
    int *list = subproblem->deferred, at = subproblem->deferred_count++;
    int replicas = subproblem->now[level].option->replicas;
    for (; at > 0 && subproblem->now[list[at - 1]].option->replicas < replicas; at--)
        list[at] = list[at - 1];
    list[at] = level;
    search_from (subproblem, state);
    subproblem->deferred_count--;
    for (; at < subproblem->deferred_count; at++)
        list[at] = list[at + 1];
}

/* Could the jobs without an option complete the chosen options to a better plan? */
static bool may_improve (const struct subproblem *subproblem, const struct state *state)
{
    cost rest = subproblem_rest (subproblem, state->level);
    return rest != COST_MOST && state->loss + rest - state->free_price < subproblem->best;
}

static void try_options (struct subproblem *subproblem, struct state state)
{
    int level = state.level;
    const struct option_list *list = &subproblem->lists->lists[subproblem->jobs[level]];
    for (int i = 0; i < subproblem->usable[level] && subproblem->steps > 0; i++) {
        const struct priced_option *option = &list->options[i];
        struct knapsack *knapsack = &subproblem->knapsacks[option->pool];
        /* Regret above this gains nothing, and all that follow have more. */
        if (state.regret + option->regret >=
            subproblem->gain_most - (subproblem->start - subproblem->best))
            break;
        if (option->where == WHERE_BEYOND || option->replicas > knapsack->left)
            continue;
        struct state next = {.level = level + 1,
                             .placed = state.placed,
                             .free_price = state.free_price - option->replicas * knapsack->price,
                             .loss = state.loss + option->loss,
                             .regret = state.regret + option->regret};
        knapsack->left -= option->replicas;
        if (may_improve (subproblem, &next)) {
            subproblem->now[level].option = option;
            bool needs_place = option->where == WHERE_ONE || option->where == WHERE_MANY;
            if (level < subproblem->keep_count && needs_place)
                defer (subproblem, level, next);
            else
                try_places (subproblem, level, next);
        }
        knapsack->left += option->replicas;
    }
}

static void save_incumbent (struct subproblem *subproblem, cost loss)
{
    subproblem->best = loss;
    subproblem->found = true;
    for (int i = 0; i < subproblem->job_count; i++) {
        subproblem->incumbent[i].option = subproblem->now[i].option;
        subproblem->incumbent[i].count = subproblem->now[i].count;
        memcpy (subproblem->incumbent[i].shares, subproblem->now[i].shares,
                (size_t)subproblem->now[i].count * sizeof (subproblem->now[i].shares[0]));
    }
}

static void search_from (struct subproblem *subproblem, struct state state)
{
    if (subproblem->steps <= 0)
        return;
    if (state.level < subproblem->keep_count) {
        try_options (subproblem, state);
    } else if (state.placed < subproblem->deferred_count) {
        /* The incumbent may have improved since these options were chosen. */
        if (may_improve (subproblem, &state)) {
            int level = subproblem->deferred[state.placed++];
            try_places (subproblem, level, state);
        }
    } else if (state.level < subproblem->job_count) {
        try_options (subproblem, state);
    } else if (state.loss < subproblem->best) {
        save_incumbent (subproblem, state.loss);
    }
}

void subproblem_branch (struct subproblem *subproblem)
{
    subproblem->deferred_count = 0;
    search_from (subproblem, (struct state){.free_price = subproblem_free_price (subproblem)});
}
