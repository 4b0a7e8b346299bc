/* SPDX-License-Identifier: Apache-2.0 */
/* The offers of all jobs in exact integers, priced and sorted: what the search chooses from. */
#ifndef POLICY_MENU_H
#define POLICY_MENU_H

#include "base/arena.h"
#include "policy/price.h"
#include "policy/worth.h"

/* An offer: what the job loses against its best one, with the ties' small change. */
struct choice {
    worth loss;
    int replicas;
    enum where where;
};

/* A job's choices by rising regret, which is loss + price x replicas beyond the least of these;
 * WHERE_NONE is always among them, unless the job is pinned. */
struct menu {
    struct choice *choices;
    int count;
    worth least; /* loss + price x replicas of the first */
};

struct menus {
    struct menu *menus;
    int count;
    worth price; /* of a slot */
    worth bound; /* no plan loses less: sum of least - price x slots, and what is pinned */
    double unit; /* value of WORTH_UNIT */
    double cap;  /* losses of value were cut here */
    double best; /* value of all jobs' best offers */
};

/* Exact losses of all jobs' offers, at a price for a number of slots.  A job keeps its offers
 * with least regret, at most `most` of them, and a ladder of small ones to fall back on; the bound
 * counts all.  Losses are cut at cap. */
int menus_make (const struct solver_job *jobs, int job_count, int slots, double price, double cap,
                int most, struct arena *arena, struct menus *ret);

/* What a choice costs beyond the best at the price, >= 0. */
static inline worth menu_regret (const struct menus *menus, const struct menu *menu,
                                 const struct choice *choice)
{
    return choice->loss + menus->price * choice->replicas - menu->least;
}

/* Drop choices with more regret than limit, which no plan within limit of the bound can have. */
void menus_trim (struct menus *menus, worth limit);

/* An amount of loss as value. */
double menus_value (const struct menus *menus, worth loss);

#endif
