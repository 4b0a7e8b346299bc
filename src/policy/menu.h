/* SPDX-License-Identifier: Apache-2.0 */
/* The offers of all jobs in exact integers, priced and sorted: what the search chooses from. */
#ifndef POLICY_MENU_H
#define POLICY_MENU_H

#include "base/arena.h"
#include "policy/solver.h"
#include "policy/tariff.h"
#include "policy/worth.h"

/* An offer: what the job loses against its best one, with the ties' small change; and what that
 * and the slots cost beyond the least that any of its choices costs. */
struct choice {
    worth loss, regret;
    int replicas;
    enum where where;
};

/* A job's choices; once priced, by rising regret.  WHERE_NONE is always among them, unless the
 * job is pinned.  WHERE_BEYOND can be there, too. */
struct menu {
    const struct solver_job *job;
    struct choice *choices;
    int count;
    const struct choice *first; /* that can be given; once priced */
    worth least;                /* loss and cost of the cheapest; once priced */
};

struct menus {
    struct menu *menus;
    int count;
    double unit; /* value of WORTH_UNIT */
    double cap;  /* losses of value were cut here */
    double best; /* value of all jobs' best offers */
    worth bound; /* no plan loses less; once priced */
};

/* Exact losses of all jobs' offers.  Losses of value are cut at cap; slots tells how many can be
 * paid for at a price of the cap.  -ENOMEM. */
int menus_make (const struct solver_job *jobs, int job_count, int slots, double cap,
                struct arena *arena, struct menus *ret);

/* Price and sort.  A job keeps its choices with least regret, at most `most` of them, and a ladder
 * of small ones to fall back on; the bound counts all.  room is what all nodes hold at these
 * prices. */
void menus_price (struct menus *menus, const struct tariff *tariff, worth room, int most);

/* What a choice costs at a tariff, besides its loss. */
worth menu_cost (const struct menu *menu, const struct choice *choice, const struct tariff *tariff);

/* Is it pinned?  Then it has one choice, and its slots are not for sale. */
bool menu_pinned (const struct menu *menu);

/* Drop choices with more regret than limit, which no plan within limit of the bound can have. */
void menus_trim (struct menus *menus, worth limit);

/* An amount of loss as value. */
double menus_value (const struct menus *menus, worth loss);

#endif
