/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From values to exact losses.  One unit is chosen so small that rounding cannot matter (2^-34 of
 * what the relaxed problem loses, with 2^17 slots) and so large that the losses of all jobs, each
 * cut at the cap, and the price of all slots add up to less than 2^62 units.
 */
#include "solver/priced_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static cost small_change (const struct solver_job *job, const struct offer *offer)
{
    cost change = COST_SLOT * offer->replicas;
    if (offer->where == WHERE_NONE)
        change += COST_IDLE;
    if (offer->where != WHERE_KEEP && job->current.count > 0)
        change += COST_RESTART;
    return change;
}

static double best_value (const struct solver_job *job)
{
    double best = job->offers[0].value;
    for (int i = 1; i < job->offer_count; i++)
        best = fmax (best, job->offers[i].value);
    return best;
}

int option_lists_make (const struct solver_job *jobs, int job_count, int slots, double cap,
                       struct arena *arena, struct option_lists *ret)
{
    const double range = 0x1p61;
    struct option_lists lists = {
        .lists = arena_take (arena, (size_t)job_count, sizeof (lists.lists[0])),
        .count = job_count,
        .unit = fmax (cap * (job_count + slots + 1) / range, 0x1p-1000), /* never 0 */
        .cap = cap,
    };
    if (!lists.lists)
        return -ENOMEM;
    for (int i = 0; i < job_count; i++) {
        const struct solver_job *job = &jobs[i];
        double best = best_value (job);
        struct option_list list = {.job = job, .count = job->offer_count};
        list.choices = arena_take (arena, (size_t)list.count, sizeof (list.choices[0]));
        if (!list.choices)
            return -ENOMEM;
        for (int j = 0; j < list.count; j++) {
            const struct offer *offer = &job->offers[j];
            double units = fmin (best - offer->value, cap) / lists.unit;
            list.choices[j] = (struct priced_option){
                .loss = (cost)llround (units) * COST_UNIT + small_change (job, offer),
                .replicas = offer->replicas,
                .where = offer->where,
            };
        }
        list.first = list.choices;
        lists.lists[i] = list;
        lists.best += best;
    }
    *ret = lists;
    return 0;
}

bool option_list_pinned (const struct option_list *list)
{
    return list->job->offer_count == 1 && list->choices[0].where == WHERE_KEEP;
}

cost option_list_cost (const struct option_list *list, const struct priced_option *choice,
                       const struct piece_prices *prices)
{
    cost one, many;
    switch (choice->where) {
    case WHERE_NONE:
        return 0;
    case WHERE_KEEP:
        return piece_prices_placement (prices, list->job->current);
    case WHERE_ONE:
        return prices->one[choice->replicas];
    case WHERE_MANY:
        return prices->many[choice->replicas];
    case WHERE_BEYOND: /* wherever it would be, so many replicas cost as much */
        one = choice->replicas <= prices->piece_most ? prices->one[choice->replicas] : COST_MOST;
        many = prices->many[choice->replicas];
        return one < many ? one : many;
    }
    return 0;
}

static int by_regret (const void *a, const void *b)
{
    const struct priced_option *x = a, *y = b;
    if (x->regret != y->regret)
        return x->regret < y->regret ? -1 : 1;
    return (int)x->where - (int)y->where;
}

/* The ladder of sizes to fall back on, when all good ones are out of reach. */
static bool on_ladder (const struct priced_option *choice)
{
    return (choice->replicas & (choice->replicas - 1)) == 0; /* 0 and the powers of two */
}

void option_lists_price (struct option_lists *lists, const struct piece_prices *prices, cost room,
                         int most)
{
    lists->bound = -room;
    for (int i = 0; i < lists->count; i++) {
        struct option_list *list = &lists->lists[i];
        cost least = COST_MOST;
        for (int j = 0; j < list->count; j++) {
            struct priced_option *choice = &list->choices[j];
            /* A pinned job's slots are not for sale. */
            choice->regret =
                choice->loss +
                (option_list_pinned (list) ? 0 : option_list_cost (list, choice, prices));
            least = choice->regret < least ? choice->regret : least;
        }
        lists->bound += least;
        list->least = least;
        for (int j = 0; j < list->count; j++)
            list->choices[j].regret -= least;
        qsort (list->choices, (size_t)list->count, sizeof (list->choices[0]), by_regret);
        int kept = 0;
        for (int j = 0; j < list->count; j++)
            if (j < most || on_ladder (&list->choices[j]))
                list->choices[kept++] = list->choices[j];
        list->count = kept;
        list->first = list->choices;
        while (list->first->where == WHERE_BEYOND)
            list->first++;
    }
}

void option_lists_trim (struct option_lists *lists, cost limit)
{
    for (int i = 0; i < lists->count; i++) {
        struct option_list *list = &lists->lists[i];
        while (list->count > 1 && list->choices[list->count - 1].regret > limit)
            list->count--;
    }
}

double option_lists_value (const struct option_lists *lists, cost loss)
{
    return (double)loss / 0x1p64 * lists->unit;
}
