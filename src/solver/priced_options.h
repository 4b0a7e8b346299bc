/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all jobs with exact integer costs, priced and sorted for the search. */
#ifndef SOLVER_PRICED_OPTIONS_H
#define SOLVER_PRICED_OPTIONS_H

#include "base/arena.h"
#include "solver/cost.h"
#include "solver/piece_prices.h"
#include "solver/solver.h"

/* loss: value lost against the job's best option; the low bits break ties.  regret: loss plus slot
 * price, minus its minimum over the job's options. */
struct priced_option {
    cost loss, regret;
    int replicas, pool;
    enum where where;
};

/* A job's options; after option_lists_price by rising regret.  WHERE_NONE is always among them,
 * unless the job is pinned. */
struct option_list {
    const struct solver_job *job;
    struct priced_option *options;
    int count;
    /* After option_lists_price: */
    const struct priced_option *first; /* least regret among those that can be assigned */
    cost least;                        /* smallest loss plus price */
};

struct option_lists {
    struct option_list *lists; /* by job */
    int count;
    double unit; /* value of COST_UNIT */
    double cap;  /* larger losses of value count as this much */
    double best; /* sum of the values of all jobs' best options */
    cost bound;  /* lower bound of every plan's loss; after option_lists_price */
};

/* Compute the exact losses of all options.  The unit is chosen so that the losses of all jobs and
 * the price of `slots` slots, those of all pools, each at most cap, do not overflow.  -ENOMEM. */
int option_lists_make (const struct solver_job *jobs, int job_count, int slots, double cap,
                       struct arena *arena, struct option_lists *ret);

/* Price and sort.  A job keeps its `most` options with least regret, and 0 and the powers of two as
 * a fallback.  The bound counts all options.  prices: by pool; node_price: the supply_price of all
 * pools at these prices. */
void option_lists_price (struct option_lists *lists, const struct piece_prices *prices,
                         cost node_price, int most);

/* Price of the slots of an option. */
cost option_list_price (const struct option_list *list, const struct priced_option *option,
                        const struct piece_prices *by_pool);

/* How urgent it is to place the job before others: the regret of its second option. */
cost option_list_urgency (const struct option_list *list);

/* A pinned job has one option, and its slots have no price. */
bool option_list_pinned (const struct option_list *list);

/* Drop options with regret above limit: no plan within limit of the bound uses them. */
void option_lists_trim (struct option_lists *lists, cost limit);

/* A loss as a value. */
double option_lists_value (const struct option_lists *lists, cost loss);

#endif
