/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From values to exact losses.  One unit is chosen so small that rounding cannot matter (2^-34 of
 * what the relaxed problem loses, with 2^17 slots) and so large that the losses of all jobs, each
 * cut at the cap, and the price of all slots add up to less than 2^62 units.
 */
#include "policy/menu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static worth small_change (const struct solver_job *job, const struct offer *offer)
{
    worth change = WORTH_SLOT * offer->replicas;
    if (offer->where == WHERE_NONE)
        change += WORTH_IDLE;
    if (offer->where != WHERE_KEEP && job->current.count > 0)
        change += WORTH_RESTART;
    return change;
}

/* A choice with what it costs at the price. */
struct priced {
    worth cost;
    struct choice choice;
};

static int by_cost (const void *a, const void *b)
{
    const struct priced *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (int)x->choice.where - (int)y->choice.where;
}

static double best_value (const struct solver_job *job)
{
    double best = job->offers[0].value;
    for (int i = 1; i < job->offer_count; i++)
        best = fmax (best, job->offers[i].value);
    return best;
}

/* All offers of a job as choices, the cheapest first. */
static void price_offers (const struct menus *menus, const struct solver_job *job,
                          struct priced *all)
{
    double best = best_value (job);
    for (int i = 0; i < job->offer_count; i++) {
        const struct offer *offer = &job->offers[i];
        double units = fmin (best - offer->value, menus->cap) / menus->unit;
        worth loss = (worth)llround (units) * WORTH_UNIT + small_change (job, offer);
        all[i] = (struct priced){
            .cost = loss + menus->price * offer->replicas,
            .choice = {.loss = loss, .replicas = offer->replicas, .where = offer->where},
        };
    }
    qsort (all, (size_t)job->offer_count, sizeof (all[0]), by_cost);
}

/* The ladder of sizes to fall back on, when all good ones are out of reach. */
static bool on_ladder (const struct choice *choice)
{
    return (choice->replicas & (choice->replicas - 1)) == 0; /* 0 and the powers of two */
}

static int keep_most (const struct priced *all, int count, int most)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        kept += i < most || on_ladder (&all[i].choice);
    return kept;
}

int menus_make (const struct solver_job *jobs, int job_count, int slots, double price, double cap,
                int most, struct arena *arena, struct menus *ret)
{
    const double range = 0x1p61;
    struct menus menus = {
        .menus = arena_take (arena, (size_t)job_count, sizeof (menus.menus[0])),
        .count = job_count,
        .unit = fmax (cap * (job_count + slots + 1) / range, 0x1p-1000), /* never 0 */
        .cap = cap,
    };
    int longest = 0;
    for (int i = 0; i < job_count; i++)
        longest = longest > jobs[i].offer_count ? longest : jobs[i].offer_count;
    struct priced *all = arena_take (arena, (size_t)longest, sizeof (all[0]));
    if (!menus.menus || !all)
        return -ENOMEM;
    menus.price = (worth)llround (fmin (price, cap) / menus.unit) * WORTH_UNIT;
    menus.bound = -menus.price * slots;
    for (int i = 0; i < job_count; i++) {
        int count = jobs[i].offer_count;
        price_offers (&menus, &jobs[i], all);
        struct menu menu = {.least = all[0].cost};
        menu.choices =
            arena_take (arena, (size_t)keep_most (all, count, most), sizeof (menu.choices[0]));
        if (!menu.choices)
            return -ENOMEM;
        for (int j = 0; j < count; j++)
            if (j < most || on_ladder (&all[j].choice))
                menu.choices[menu.count++] = all[j].choice;
        menus.menus[i] = menu;
        /* A pinned job's slots are not for sale. */
        menus.bound += count > 1 ? menu.least : menu.choices[0].loss;
        menus.best += best_value (&jobs[i]);
    }
    *ret = menus;
    return 0;
}

void menus_trim (struct menus *menus, worth limit)
{
    for (int i = 0; i < menus->count; i++) {
        struct menu *menu = &menus->menus[i];
        while (menu->count > 1 &&
               menu_regret (menus, menu, &menu->choices[menu->count - 1]) > limit)
            menu->count--;
    }
}

double menus_value (const struct menus *menus, worth loss)
{
    return (double)loss / 0x1p64 * menus->unit;
}
