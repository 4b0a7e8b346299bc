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

static double best_value (const struct solver_job *job)
{
    double best = job->offers[0].value;
    for (int i = 1; i < job->offer_count; i++)
        best = fmax (best, job->offers[i].value);
    return best;
}

int menus_make (const struct solver_job *jobs, int job_count, int slots, double cap,
                struct arena *arena, struct menus *ret)
{
    const double range = 0x1p61;
    struct menus menus = {
        .menus = arena_take (arena, (size_t)job_count, sizeof (menus.menus[0])),
        .count = job_count,
        .unit = fmax (cap * (job_count + slots + 1) / range, 0x1p-1000), /* never 0 */
        .cap = cap,
    };
    if (!menus.menus)
        return -ENOMEM;
    for (int i = 0; i < job_count; i++) {
        const struct solver_job *job = &jobs[i];
        double best = best_value (job);
        struct menu menu = {.job = job, .count = job->offer_count};
        menu.choices = arena_take (arena, (size_t)menu.count, sizeof (menu.choices[0]));
        if (!menu.choices)
            return -ENOMEM;
        for (int j = 0; j < menu.count; j++) {
            const struct offer *offer = &job->offers[j];
            double units = fmin (best - offer->value, cap) / menus.unit;
            menu.choices[j] = (struct choice){
                .loss = (worth)llround (units) * WORTH_UNIT + small_change (job, offer),
                .replicas = offer->replicas,
                .where = offer->where,
            };
        }
        menu.first = menu.choices;
        menus.menus[i] = menu;
        menus.best += best;
    }
    *ret = menus;
    return 0;
}

bool menu_pinned (const struct menu *menu)
{
    return menu->job->offer_count == 1 && menu->choices[0].where == WHERE_KEEP;
}

worth menu_cost (const struct menu *menu, const struct choice *choice, const struct tariff *tariff)
{
    worth one, many;
    switch (choice->where) {
    case WHERE_NONE:
        return 0;
    case WHERE_KEEP:
        return tariff_placement (tariff, menu->job->current);
    case WHERE_ONE:
        return tariff->one[choice->replicas];
    case WHERE_MANY:
        return tariff->many[choice->replicas];
    case WHERE_BEYOND: /* wherever it would be, so many replicas cost as much */
        one = choice->replicas <= tariff->piece_most ? tariff->one[choice->replicas] : WORTH_MOST;
        many = tariff->many[choice->replicas];
        return one < many ? one : many;
    }
    return 0;
}

static int by_regret (const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    if (x->regret != y->regret)
        return x->regret < y->regret ? -1 : 1;
    return (int)x->where - (int)y->where;
}

/* The ladder of sizes to fall back on, when all good ones are out of reach. */
static bool on_ladder (const struct choice *choice)
{
    return (choice->replicas & (choice->replicas - 1)) == 0; /* 0 and the powers of two */
}

void menus_price (struct menus *menus, const struct tariff *tariff, worth room, int most)
{
    menus->bound = -room;
    for (int i = 0; i < menus->count; i++) {
        struct menu *menu = &menus->menus[i];
        worth least = WORTH_MOST;
        for (int j = 0; j < menu->count; j++) {
            struct choice *choice = &menu->choices[j];
            /* A pinned job's slots are not for sale. */
            choice->regret =
                choice->loss + (menu_pinned (menu) ? 0 : menu_cost (menu, choice, tariff));
            least = choice->regret < least ? choice->regret : least;
        }
        menus->bound += least;
        menu->least = least;
        for (int j = 0; j < menu->count; j++)
            menu->choices[j].regret -= least;
        qsort (menu->choices, (size_t)menu->count, sizeof (menu->choices[0]), by_regret);
        int kept = 0;
        for (int j = 0; j < menu->count; j++)
            if (j < most || on_ladder (&menu->choices[j]))
                menu->choices[kept++] = menu->choices[j];
        menu->count = kept;
        menu->first = menu->choices;
        while (menu->first->where == WHERE_BEYOND)
            menu->first++;
    }
}

void menus_trim (struct menus *menus, worth limit)
{
    for (int i = 0; i < menus->count; i++) {
        struct menu *menu = &menus->menus[i];
        while (menu->count > 1 && menu->choices[menu->count - 1].regret > limit)
            menu->count--;
    }
}

double menus_value (const struct menus *menus, worth loss)
{
    return (double)loss / 0x1p64 * menus->unit;
}
