/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first plan, from which the local search starts.  At good prices the jobs' best options use
 * about all slots, so they only have to be packed:
 *
 *     1. jobs whose best option is their current placement
 *     2. the others, the largest first (with several pools: those first that lose most if their
 *        best option does not fit), each with the cheapest option that still fits
 *     3. free slots go to the jobs that gain most per slot
 */
#include "solver/greedy_pack.h"

#include <errno.h>
#include <stdlib.h>

/* A job and its sort key. */
struct rank {
    cost key;
    int job;
};

static int by_key_descending (const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    int order = compare_costs (y->key, x->key);
    return order ? order : x->job - y->job;
}

enum { SPREAD_PENALTY_PART = 4 }; /* the penalty is this part of the price of a slot */

/* Regret, plus a penalty for a small job on several nodes: it closes these nodes to other jobs on
 * several nodes. */
static cost penalised_regret (const struct packing *packing, const struct priced_option *option)
{
    int node_most = packing->pools[option->pool].free_most;
    bool spread = option->where == WHERE_MANY && option->replicas <= node_most;
    return option->regret +
           (spread ? packing->prices[option->pool].one[node_most > 0] / SPREAD_PENALTY_PART : 0);
}

/* Give a job its cheapest option that fits; WHERE_NONE always does. */
static int put_cheapest (const struct option_lists *lists, struct packing *packing, int job)
{
    const struct option_list *list = &lists->lists[job];
    const struct priced_option *best = NULL;
    struct placement placement;
    for (int i = 0; i < list->count; i++) {
        const struct priced_option *option = &list->options[i];
        if (best && option->regret >= penalised_regret (packing, best))
            break;
        if ((!best || penalised_regret (packing, option) < penalised_regret (packing, best)) &&
            packing_find (packing, job, option, &placement))
            best = option;
    }
    if (!best || !packing_find (packing, job, best, &placement))
        return 0;
    return packing_put (packing, job, best, placement);
}

/* Place the jobs whose best option is to keep their placement, if it fits.  Writes the other jobs
 * into `others`. */
static int put_unmoved (const struct option_lists *lists, struct packing *packing, int *others,
                        int *ret_count)
{
    int count = 0;
    for (int job = 0; job < packing->job_count; job++) {
        const struct priced_option *first = lists->lists[job].first;
        struct placement placement;
        if (packing->places[job].option)
            continue;
        if (first->where != WHERE_KEEP || !packing_find (packing, job, first, &placement))
            others[count++] = job;
        else if (packing_put (packing, job, first, placement) < 0)
            return -ENOMEM;
    }
    *ret_count = count;
    return 0;
}

static int put_in_order (const struct option_lists *lists, struct packing *packing, const int *jobs,
                         int count)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    for (int i = 0; i < count; i++) {
        const struct option_list *list = &lists->lists[jobs[i]];
        ranks[i].key = packing->pool_count > 1 ? option_list_urgency (list) : list->first->replicas;
        ranks[i].job = jobs[i];
    }
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count; i++)
        if (put_cheapest (lists, packing, ranks[i].job) < 0)
            return -ENOMEM;
    return 0;
}

/* ---- Free slots ---- */

/* The option that gains most per additional slot over `now`, the job's present one, of those for which
 * its pool has enough free slots, besides the job's own; NULL if none gains.  given_back: the job's own
 * are free now, and the option must fit on the nodes. */
static const struct priced_option *best_gain (const struct option_lists *lists,
                                              struct packing *packing, int job,
                                              const struct priced_option *now, bool given_back,
                                              cost *ret_gain)
{
    const struct option_list *list = &lists->lists[job];
    const struct priced_option *best = NULL;
    cost most = 0;
    for (int i = 0; i < list->count; i++) {
        struct placement placement;
        const struct priced_option *option = &list->options[i];
        int more = option->replicas - (option->pool == now->pool ? now->replicas : 0);
        int spare = packing->pools[option->pool].free_count -
                    (given_back && option->pool == now->pool ? now->replicas : 0);
        if (option->where == WHERE_BEYOND || option->loss >= now->loss || more > spare)
            continue;
        cost gain = (now->loss - option->loss) / (more > 1 ? more : 1);
        if (gain > most && (!given_back || packing_find (packing, job, option, &placement))) {
            best = option;
            most = gain;
        }
    }
    *ret_gain = most;
    return best;
}

/* Replace a job's option by the one that gains most and fits.  -ENOMEM. */
static int enlarge (const struct option_lists *lists, struct packing *packing, int job)
{
    struct place *place = &packing->places[job];
    const struct priced_option *now = place->option;
    /* The shares stay readable until the job is placed again. */
    struct placement placement = {.shares = place->shares, .count = place->count}, better;
    cost gain;
    packing_take (packing, job);
    const struct priced_option *best = best_gain (lists, packing, job, now, true, &gain);
    if (best && packing_find (packing, job, best, &better))
        return packing_put (packing, job, best, better);
    return packing_put (packing, job, now, placement);
}

static int use_free_slots (const struct option_lists *lists, struct packing *packing)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)packing->job_count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    int count = 0, rc = 0;
    for (int job = 0; job < packing->job_count; job++) {
        cost gain;
        if (best_gain (lists, packing, job, packing->places[job].option, false, &gain))
            ranks[count++] = (struct rank){.key = gain, .job = job};
    }
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count && rc == 0 && packing->free_count > 0; i++)
        rc = enlarge (lists, packing, ranks[i].job);
    return rc;
}

int greedy_pack (const struct option_lists *lists, struct packing *packing)
{
    int count, *jobs = arena_take (packing->arena, (size_t)packing->job_count, sizeof (int));
    if (!jobs || put_unmoved (lists, packing, jobs, &count) < 0 ||
        put_in_order (lists, packing, jobs, count) < 0)
        return -ENOMEM;
    return use_free_slots (lists, packing);
}
