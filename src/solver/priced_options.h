/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all jobs in exact integers, priced and sorted: what the search chooses from. */
#ifndef SOLVER_PRICED_OPTIONS_H
#define SOLVER_PRICED_OPTIONS_H

#include "base/arena.h"
#include "solver/solver.h"
#include "solver/piece_prices.h"
#include "solver/cost.h"

/* An option: what the job loses against its best one, with the ties' small change; and what that
 * and the slots cost beyond the least that any of its options costs. */
struct priced_option {
    cost loss, regret;
    int replicas;
    enum where where;
};

/* A job's options; once priced, by rising regret.  WHERE_NONE is always among them, unless the
 * job is pinned.  WHERE_BEYOND can be there, too. */
struct option_list {
    const struct solver_job *job;
    struct priced_option *options;
    int count;
    const struct priced_option *first; /* that can be given; once priced */
    cost least;                        /* loss and cost of the cheapest; once priced */
};

struct option_lists {
    struct option_list *lists;
    int count;
    double unit; /* value of WORTH_UNIT */
    double cap;  /* losses of value were cut here */
    double best; /* value of all jobs' best options */
    cost bound;  /* no plan loses less; once priced */
};

/* Exact losses of all jobs' options.  Losses of value are cut at cap; slots tells how many can be
 * paid for at a price of the cap.  -ENOMEM. */
int option_lists_make (const struct solver_job *jobs, int job_count, int slots, double cap,
                       struct arena *arena, struct option_lists *ret);

/* Price and sort.  A job keeps its options with least regret, at most `most` of them, and a ladder
 * of small ones to fall back on; the bound counts all.  room is what all nodes hold at these
 * prices. */
void option_lists_price (struct option_lists *lists, const struct piece_prices *prices, cost room,
                         int most);

/* What a option costs at a tariff, besides its loss. */
cost option_list_cost (const struct option_list *list, const struct priced_option *option,
                       const struct piece_prices *prices);

/* Is it pinned?  Then it has one option, and its slots are not for sale. */
bool option_list_pinned (const struct option_list *list);

/* Drop options with more regret than limit, which no plan within limit of the bound can have. */
void option_lists_trim (struct option_lists *lists, cost limit);

/* An amount of loss as value. */
double option_lists_value (const struct option_lists *lists, cost loss);

#endif
