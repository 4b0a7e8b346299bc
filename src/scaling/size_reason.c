/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the numbers of two forecasts into words. */
#include "scaling/size_reason.h"

#include <math.h>
#include <stdio.h>

#include "scaling/size_goal.h"

/* Room for the names of groups, so that the reason behind them is never cut off. */
enum { NAMES_SIZE = 72 };

static int total (const int *nodes, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += nodes[i];
    return sum;
}

/* "t4 8 -> 6, spot 0 -> 2"; if that is too long, the sum over all groups. */
static void name_groups (const struct view *view, const int *nodes, char ret[NAMES_SIZE])
{
    const struct power *power = view->power;
    size_t length = 0;
    for (int g = 0; g < power->count && length < NAMES_SIZE; g++) {
        int now = node_power_ordered (view->node_power, view->node_count, g);
        if (nodes[g] != now)
            length +=
                (size_t)snprintf (ret + length, NAMES_SIZE - length, "%s%.40s %d -> %d",
                                  length > 0 ? ", " : "", power->groups[g].name, now, nodes[g]);
    }
    int now = 0;
    for (int g = 0; g < power->count; g++)
        now += node_power_ordered (view->node_power, view->node_count, g);
    if (power->count == 1 || length == 0 || length >= NAMES_SIZE)
        snprintf (ret, NAMES_SIZE, "%d -> %d", now, total (nodes, power->count));
}

void size_reason_text (const struct view *view, const int nodes[NODE_GROUPS_LIMIT], const char *why,
                       char ret[DETAIL_SIZE])
{
    char names[NAMES_SIZE];
    name_groups (view, nodes, names);
    snprintf (ret, DETAIL_SIZE, "%s nodes: %.80s", names, why);
}

/* "2 more bring 20 % more goodput for 25 % more cost" */
static void compare (const struct forecast *now, const struct forecast *then, int groups, char *ret,
                     size_t size)
{
    int nodes = total (then->nodes, groups) - total (now->nodes, groups);
    bool grows = nodes > 0;
    const struct forecast *large = grows ? then : now, *small = grows ? now : then;
    double goodput = 100 * (large->goodput - small->goodput),
           of = grows ? now->goodput : large->goodput;
    double price = 100 * (large->price - small->price), cost = grows ? now->price : large->price;
    char gain[40] = "";
    if (of > 0)
        snprintf (gain, sizeof (gain), "%.0f %% of the goodput", goodput / of);
    else
        snprintf (gain, sizeof (gain), "the first goodput");
    if (nodes == 0)
        snprintf (ret, size, "%.2f instead of %.2f times the goodput of one GPU", then->goodput,
                  now->goodput);
    else if (cost > 0)
        snprintf (ret, size, "%s %d %s %s for %.0f %% of the cost", grows ? "another" : "the last",
                  grows ? nodes : -nodes, nodes == 1 || nodes == -1 ? "brings" : "bring", gain,
                  price / cost);
    else
        snprintf (ret, size, "%s %d %s %s", grows ? "another" : "the last", grows ? nodes : -nodes,
                  nodes == 1 || nodes == -1 ? "brings" : "bring", gain);
}

void size_reason (const struct view *view, const struct forecast *now, const struct forecast *then,
                  bool forced, char ret[DETAIL_SIZE])
{
    double mean = size_mean_utility (view, now);
    char why[100] = "";
    if (forced)
        snprintf (why, sizeof (why), "jobs fit nowhere without them");
    else if (!(now->goodput > 0) && then->slots < now->slots)
        snprintf (why, sizeof (why), "no job runs on them");
    else if (view->power->goal.kind == GOAL_BAND)
        snprintf (why, sizeof (why), "utility %.2f is %s the band, %.2f is expected", mean,
                  mean > view->power->goal.high ? "above" : "below", then->utility);
    else
        compare (now, then, view->power->count, why, sizeof (why));
    size_reason_text (view, then->nodes, why, ret);
}
