/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first plan, job by job.  At the right price the jobs' best choices use about all slots, so
 * taking each job's best choice that fits, large ones first, is near the optimum already.
 */
#include "policy/fill.h"

#include <errno.h>
#include <stdlib.h>

/* A job and what it is sorted by. */
struct rank {
    worth key;
    int job;
};

static int by_key_descending (const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->job - y->job;
}

/* The cheapest choice that fits; NONE always does. */
static int put_cheapest (const struct menus *menus, struct packing *packing, int job)
{
    const struct menu *menu = &menus->menus[job];
    for (int i = 0; i < menu->count; i++) {
        struct placement placement;
        if (packing_find (packing, job, &menu->choices[i], &placement))
            return packing_put (packing, job, &menu->choices[i], placement);
    }
    return 0;
}

int fill (const struct menus *menus, struct packing *packing)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)packing->job_count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    int count = 0, rc = 0;
    for (int job = 0; job < packing->job_count && rc == 0; job++) {
        const struct choice *first = &menus->menus[job].choices[0];
        struct placement placement;
        if (packing->places[job].choice)
            continue;
        if (first->where == WHERE_KEEP && packing_find (packing, job, first, &placement))
            rc = packing_put (packing, job, first, placement);
        else
            ranks[count++] = (struct rank){.key = first->replicas, .job = job};
    }
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count && rc == 0; i++)
        rc = put_cheapest (menus, packing, ranks[i].job);
    return rc < 0 ? rc : fill_rest (menus, packing);
}

/* The choice with least loss that fits where the job's own slots are free again, or NULL. */
static const struct choice *find_best (const struct menus *menus, struct packing *packing, int job)
{
    const struct menu *menu = &menus->menus[job];
    const struct choice *best = NULL;
    for (int i = 0; i < menu->count; i++) {
        struct placement placement;
        const struct choice *choice = &menu->choices[i];
        if ((!best || choice->loss < best->loss) && packing_find (packing, job, choice, &placement))
            best = choice;
    }
    return best;
}

/* What a job could gain per slot more, if nobody else took any; 0 if nothing. */
static worth gain_per_slot (const struct menus *menus, const struct packing *packing, int job)
{
    const struct menu *menu = &menus->menus[job];
    const struct choice *now = packing->places[job].choice;
    worth best = 0;
    for (int i = 0; i < menu->count; i++) {
        const struct choice *choice = &menu->choices[i];
        int more = choice->replicas - now->replicas;
        if (choice->loss >= now->loss || more > packing->free_count)
            continue;
        worth gain = (now->loss - choice->loss) / (more > 1 ? more : 1);
        best = gain > best ? gain : best;
    }
    return best;
}

int fill_rest (const struct menus *menus, struct packing *packing)
{
    struct rank *ranks = arena_take (packing->arena, (size_t)packing->job_count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    int count = 0, rc = 0;
    for (int job = 0; job < packing->job_count; job++) {
        worth gain = gain_per_slot (menus, packing, job);
        if (gain > 0)
            ranks[count++] = (struct rank){.key = gain, .job = job};
    }
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_key_descending);
    for (int i = 0; i < count && rc == 0; i++) {
        int job = ranks[i].job;
        const struct choice *now = packing->places[job].choice;
        struct place *place = &packing->places[job];
        if (packing->free_count == 0)
            break;
        /* The shares that are taken back stay readable until the job is placed again. */
        struct placement old = {.shares = place->shares, .count = place->count};
        packing_take (packing, job);
        const struct choice *best = find_best (menus, packing, job);
        struct placement placement = old;
        if (best && best->loss < now->loss && packing_find (packing, job, best, &placement))
            rc = packing_put (packing, job, best, placement);
        else
            rc = packing_put (packing, job, now, old);
    }
    return rc;
}
