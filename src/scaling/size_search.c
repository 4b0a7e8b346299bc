/* SPDX-License-Identifier: Apache-2.0 */
/* Bisection over the number of nodes, group by group. */
#include "scaling/size_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int least_of (int a, int b)
{
    return a < b ? a : b;
}

/* Nodes of a group that a sum can pay. */
static int payable (const struct node_group *group, double money, int most)
{
    double price = group->price_per_node_hour;
    if (!(price > 0) || money >= most * price)
        return most;
    int nodes = money > 0 ? (int)(money / price) : 0;
    /* Exact at multiples of the price. */
    return nodes < most && (nodes + 1) * price <= money ? nodes + 1 : nodes;
}

static void set_limits (struct size_search *search)
{
    const struct what_if *what_if = search->what_if;
    const struct view *view = &what_if->informed.view;
    for (int g = 0; g < what_if->power->count; g++) {
        const struct node_group *group = &what_if->power->groups[g];
        const struct group_nodes *nodes = &what_if->groups[g];
        int most = node_group_most (group), min = least_of (group->min_nodes, most);
        if (node_power_blocked (view->node_power, view->node_count, g, view_now_us (view)))
            most = nodes->up < min ? min : least_of (most, nodes->up);
        search->most[g] = most;
        search->least[g] = least_of (min > nodes->pinned ? min : nodes->pinned, most);
    }
}

/* Fill the groups in their order with as many nodes as can be paid. */
static void fill (const struct size_search *search, double budget, int ret[NODE_GROUPS_LIMIT])
{
    const struct power *power = search->what_if->power;
    double money = budget - what_if_price (search->what_if, search->least);
    memcpy (ret, search->least, sizeof (search->least));
    for (int i = 0; i < power->count; i++) {
        int g = search->order[i];
        int more = payable (&power->groups[g], money, search->most[g] - search->least[g]);
        ret[g] += more;
        if (isfinite (money))
            money -= more * power->groups[g].price_per_node_hour;
    }
}

/* Put the group at place `from` of the order first. */
static void move_first (int *order, int from)
{
    int group = order[from];
    memmove (order + 1, order, (size_t)from * sizeof (order[0]));
    order[0] = group;
}

/* Order the groups by the goodput for their price, each alone. */
static int rank_groups (struct size_search *search, double budget, struct pollux_error *err)
{
    const struct power *power = search->what_if->power;
    double worth[NODE_GROUPS_LIMIT];
    for (int g = 0; g < power->count; g++) {
        int nodes[NODE_GROUPS_LIMIT] = {0}, at = g;
        struct forecast forecast;
        nodes[g] = payable (&power->groups[g], budget, search->most[g]);
        worth[g] = 0;
        if (power->count > 1 && nodes[g] > 0) {
            int rc = what_if_ask (search->what_if, nodes, &forecast, err);
            if (rc < 0)
                return rc;
            worth[g] = forecast.goodput > 0 ? forecast.goodput / forecast.price : 0;
        }
        for (; at > 0 && worth[g] > worth[search->order[at - 1]]; at--)
            search->order[at] = search->order[at - 1];
        search->order[at] = g;
    }
    return 0;
}

/* The largest size that can be paid.  A job that fits nowhere on it may fit if another group comes first. */
static void choose_largest (struct size_search *search, double budget)
{
    int count = search->what_if->power->count, best[NODE_GROUPS_LIMIT] = {0};
    int order[NODE_GROUPS_LIMIT], best_order[NODE_GROUPS_LIMIT];
    memcpy (order, search->order, sizeof (order));
    search->misfits = -1;
    for (int i = 0; i < count && search->misfits != 0; i++) {
        int nodes[NODE_GROUPS_LIMIT];
        memcpy (search->order, order, sizeof (order));
        move_first (search->order, i);
        fill (search, budget, nodes);
        int misfits = what_if_misfits (search->what_if, nodes);
        if (search->misfits < 0 || misfits < search->misfits) {
            search->misfits = misfits;
            memcpy (best, nodes, sizeof (best));
            memcpy (best_order, search->order, sizeof (best_order));
        }
    }
    memcpy (search->order, best_order, sizeof (best_order));
    memcpy (search->most, best, sizeof (best));
}

int size_search_begin (struct what_if *what_if, double budget, struct size_search *ret,
                       struct pollux_error *err)
{
    struct size_search search = {.what_if = what_if};
    set_limits (&search);
    int rc = rank_groups (&search, budget, err);
    if (rc < 0)
        return rc;
    choose_largest (&search, budget);
    rc = what_if_ask (what_if, search.most, &search.largest, err);
    if (rc == 0)
        *ret = search;
    return rc;
}

/* The size after this many nodes were removed from the largest. */
static void size_at (const struct size_search *search, int removed, int ret[NODE_GROUPS_LIMIT])
{
    memcpy (ret, search->most, sizeof (search->most));
    for (int i = search->what_if->power->count - 1; i >= 0; i--) {
        int g = search->order[i], fewer = least_of (removed, search->most[g] - search->least[g]);
        ret[g] -= fewer;
        removed -= fewer;
    }
}

int size_search_run (const struct size_search *search, const struct size_test *test,
                     struct forecast *ret, struct forecast *next, struct pollux_error *err)
{
    struct forecast good = search->largest, bad = search->largest;
    int low = 0, high = 1;
    for (int g = 0; g < search->what_if->power->count; g++)
        high += search->most[g] - search->least[g];
    if (!test->holds (search, &search->largest, test->limit))
        high = 0;
    while (high - low > 1) { /* `low` passes, `high` does not */
        int middle = low + (high - low) / 2, nodes[NODE_GROUPS_LIMIT];
        struct forecast forecast;
        size_at (search, middle, nodes);
        if (what_if_misfits (search->what_if, nodes) > search->misfits) {
            high = middle;
            bad = good;
            continue;
        }
        int rc = what_if_ask (search->what_if, nodes, &forecast, err);
        if (rc < 0)
            return rc;
        bool holds = test->holds (search, &forecast, test->limit);
        *(holds ? &good : &bad) = forecast;
        *(holds ? &low : &high) = middle;
    }
    *ret = good;
    if (next)
        *next = bad.price < good.price || bad.slots < good.slots ? bad : good;
    return 0;
}
