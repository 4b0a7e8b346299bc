/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts values to exact losses, then adds prices and sorts.  One unit is small enough for
 * rounding (2^-34 of the relaxed problem's loss, with 2^17 slots), and large enough for the losses
 * of all jobs, each at most the cap, and the price of all slots to sum to less than 2^62 units.
 */
#include "solver/priced_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The low bits of a loss. */
static cost tie_break (const struct solver_job *job, const struct solver_option *option)
{
    cost low = COST_SLOT * option->replicas;
    if (option->where == WHERE_NONE)
        low += COST_IDLE;
    if (option->where != WHERE_KEEP && job->current.count > 0)
        low += COST_RESTART;
    return low;
}

static double best_value (const struct solver_job *job)
{
    double best = job->options[0].value;
    for (int i = 1; i < job->option_count; i++)
        best = fmax (best, job->options[i].value);
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
        struct option_list list = {.job = job, .count = job->option_count};
        list.options = arena_take (arena, (size_t)list.count, sizeof (list.options[0]));
        if (!list.options)
            return -ENOMEM;
        for (int j = 0; j < list.count; j++) {
            const struct solver_option *option = &job->options[j];
            double units = fmin (best - option->value, cap) / lists.unit;
            list.options[j] = (struct priced_option){
                .loss = (cost)llround (units) * COST_UNIT + tie_break (job, option),
                .replicas = option->replicas,
                .pool = option->pool,
                .where = option->where,
            };
        }
        list.first = list.options;
        lists.lists[i] = list;
        lists.best += best;
    }
    *ret = lists;
    return 0;
}

bool option_list_pinned (const struct option_list *list)
{
    return list->job->option_count == 1 && list->options[0].where == WHERE_KEEP;
}

cost option_list_price (const struct option_list *list, const struct priced_option *option,
                        const struct piece_prices *by_pool)
{
    const struct piece_prices *prices = &by_pool[option->pool];
    cost one, many;
    switch (option->where) {
    case WHERE_NONE:
        return 0;
    case WHERE_KEEP:
        return piece_prices_placement (prices, list->job->current);
    case WHERE_ONE:
        return prices->one[option->replicas];
    case WHERE_MANY:
        return prices->many[option->replicas];
    case WHERE_BEYOND: /* the cheaper of the two, to remain a bound */
        one = option->replicas <= prices->piece_most ? prices->one[option->replicas] : COST_MOST;
        many = prices->many[option->replicas];
        return one < many ? one : many;
    }
    return 0;
}

cost option_list_urgency (const struct option_list *list)
{
    return list->count > 1 ? list->options[1].regret : COST_MOST;
}

static int by_regret (const void *a, const void *b)
{
    const struct priced_option *x = a, *y = b;
    int order = compare_costs (x->regret, y->regret);
    order = order ? order : (int)x->where - (int)y->where;
    return order ? order : x->pool - y->pool;
}

/* Kept in any case, for when no option with small regret fits. */
static bool is_fallback (const struct priced_option *option)
{
    return (option->replicas & (option->replicas - 1)) == 0; /* 0 and the powers of two */
}

void option_lists_price (struct option_lists *lists, const struct piece_prices *prices,
                         cost node_price, int most)
{
    lists->bound = -node_price;
    for (int i = 0; i < lists->count; i++) {
        struct option_list *list = &lists->lists[i];
        cost least = COST_MOST;
        for (int j = 0; j < list->count; j++) {
            struct priced_option *option = &list->options[j];
            option->regret =
                option->loss +
                (option_list_pinned (list) ? 0 : option_list_price (list, option, prices));
            least = option->regret < least ? option->regret : least;
        }
        lists->bound += least;
        list->least = least;
        for (int j = 0; j < list->count; j++)
            list->options[j].regret -= least;
        qsort (list->options, (size_t)list->count, sizeof (list->options[0]), by_regret);
        int kept = 0;
        for (int j = 0; j < list->count; j++)
            if (j < most || is_fallback (&list->options[j]))
                list->options[kept++] = list->options[j];
        list->count = kept;
        list->first = list->options;
        while (list->first->where == WHERE_BEYOND)
            list->first++;
    }
}

void option_lists_trim (struct option_lists *lists, cost limit)
{
    for (int i = 0; i < lists->count; i++) {
        struct option_list *list = &lists->lists[i];
        while (list->count > 1 && list->options[list->count - 1].regret > limit)
            list->count--;
    }
}

double option_lists_value (const struct option_lists *lists, cost loss)
{
    return (double)loss / 0x1p64 * lists->unit;
}
