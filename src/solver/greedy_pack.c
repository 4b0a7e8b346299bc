/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first plan.  At the right prices the jobs' best options use about all slots, so what is left is
 * to pack them: pinned jobs and those that stay first, then jobs that need several nodes, then
 * node by node.  A node is filled as well as possible with some of the waiting jobs, each of a size
 * near its best; nodes.c does that.  At last come those who found no place, and what is left over.
 */
#include "solver/greedy_pack.h"

#include <errno.h>
#include <stdlib.h>

/* A job and what it is sorted by. */
struct rank {
    cost key;
    int job;
};

static int by_key_descending (const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->job - y->job;
}

enum { HANDICAP_PART = 4 }; /* of the price of a slot */

/* What a option costs here: small jobs on several nodes are in everybody's way later. */
static cost handicap (const struct packing *packing, const struct priced_option *option)
{
    bool spread = option->where == WHERE_MANY && option->replicas <= packing->free_most;
    return option->regret +
           (spread ? packing->prices->one[packing->free_most > 0] / HANDICAP_PART : 0);
}

/* The cheapest option that fits; NONE always does. */
static int put_cheapest (const struct option_lists *lists, struct packing *packing, int job)
{
    const struct option_list *list = &lists->lists[job];
    const struct priced_option *best = NULL;
    struct placement placement;
    for (int i = 0; i < list->count; i++) {
        const struct priced_option *option = &list->options[i];
        if (best && option->regret >= handicap (packing, best))
            break;
        if ((!best || handicap (packing, option) < handicap (packing, best)) &&
            packing_find (packing, job, option, &placement))
            best = option;
    }
    if (!best || !packing_find (packing, job, best, &placement))
        return 0;
    return packing_put (packing, job, best, placement);
}

/* Those who want to stay, and can.  The others are left in jobs. */
static int fill_keepers (const struct option_lists *lists, struct packing *packing, int *jobs,
                         int *ret)
{
    int count = 0;
    for (int job = 0; job < packing->job_count; job++) {
        const struct priced_option *first = lists->lists[job].first;
        struct placement placement;
        if (packing->places[job].option)
            continue;
        if (first->where != WHERE_KEEP || !packing_find (packing, job, first, &placement))
            jobs[count++] = job;
        else if (packing_put (packing, job, first, placement) < 0)
            return -ENOMEM;
    }
    *ret = count;
    return 0;
}

/* The others, the largest first. */
static int fill_movers (const struct option_lists *lists, struct packing *packing, const int *jobs,
                        int count)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    for (int i = 0; i < count; i++)
        ranks[i] = (struct rank){.key = lists->lists[jobs[i]].first->replicas, .job = jobs[i]};
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count; i++)
        if (put_cheapest (lists, packing, ranks[i].job) < 0)
            return -ENOMEM;
    return 0;
}

int greedy_pack (const struct option_lists *lists, struct packing *packing)
{
    int count, *jobs = arena_take (packing->arena, (size_t)packing->job_count, sizeof (int));
    if (!jobs || fill_keepers (lists, packing, jobs, &count) < 0 ||
        fill_movers (lists, packing, jobs, count) < 0)
        return -ENOMEM;
    return greedy_pack_rest (lists, packing);
}

/* ---- What is left ---- */

/* The option that gains most per slot over what the job has now, of those that fit where its own
 * slots are free again; or NULL. */
static const struct priced_option *find_best (const struct option_lists *lists,
                                              struct packing *packing, int job,
                                              const struct priced_option *now)
{
    const struct option_list *list = &lists->lists[job];
    const struct priced_option *best = NULL;
    cost most = 0;
    for (int i = 0; i < list->count; i++) {
        struct placement placement;
        const struct priced_option *option = &list->options[i];
        int more = option->replicas - now->replicas;
        cost gain = (now->loss - option->loss) / (more > 1 ? more : 1);
        if (gain > most && packing_find (packing, job, option, &placement)) {
            best = option;
            most = gain;
        }
    }
    return best;
}

/* What a job could gain per slot more, if nobody else took any; 0 if nothing. */
static cost gain_per_slot (const struct option_lists *lists, const struct packing *packing, int job)
{
    const struct option_list *list = &lists->lists[job];
    const struct priced_option *now = packing->places[job].option;
    cost best = 0;
    for (int i = 0; i < list->count; i++) {
        const struct priced_option *option = &list->options[i];
        int more = option->replicas - now->replicas;
        if (option->where == WHERE_BEYOND || option->loss >= now->loss ||
            more > packing->free_count)
            continue;
        cost gain = (now->loss - option->loss) / (more > 1 ? more : 1);
        best = gain > best ? gain : best;
    }
    return best;
}

int greedy_pack_rest (const struct option_lists *lists, struct packing *packing)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)packing->job_count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    int count = 0, rc = 0;
    for (int job = 0; job < packing->job_count; job++) {
        cost gain = gain_per_slot (lists, packing, job);
        if (gain > 0)
            ranks[count++] = (struct rank){.key = gain, .job = job};
    }
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count && rc == 0; i++) {
        int job = ranks[i].job;
        const struct priced_option *now = packing->places[job].option;
        struct place *place = &packing->places[job];
        if (packing->free_count == 0)
            break;
        /* The shares that are taken back stay readable until the job is placed again. */
        struct placement old = {.shares = place->shares, .count = place->count};
        packing_take (packing, job);
        const struct priced_option *best = find_best (lists, packing, job, now);
        struct placement placement = old;
        if (best && packing_find (packing, job, best, &placement))
            rc = packing_put (packing, job, best, placement);
        else
            rc = packing_put (packing, job, now, old);
    }
    return rc;
}
