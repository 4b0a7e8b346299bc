/* SPDX-License-Identifier: Apache-2.0 */
/* Each goal is a test of a forecast: utility, price per hour, or slowdown. */
#include "scaling/size_goal.h"

#include <math.h>

#include "scaling/size_search.h"

/* Less goodput than this part of the most is practically the most.  The policies' plans are that close to the best ones. */
#define SAME_GOODPUT 0.99

double size_mean_utility (const struct view *view, const struct forecast *now)
{
    const struct power *power = view->power;
    double sum = now->utility;
    int count = 1;
    for (int i = power->utility_count - 1; i >= 0 && count < UTILITY_ROUNDS; i--, count++)
        sum += power->utilities[i];
    return sum / count;
}

bool size_goal_met (const struct view *view, const struct forecast *now)
{
    const struct goal *goal = &view->power->goal;
    double mean = size_mean_utility (view, now);
    return goal->kind == GOAL_BAND && mean >= goal->low && mean <= goal->high;
}

double size_slowdown (const struct what_if *what_if, const struct forecast *large,
                      const struct forecast *small)
{
    double sum = 0;
    int jobs = 0;
    for (int j = 0; j < what_if->view.job_count; j++)
        if (large->speeds[j] > 0) {
            sum += small->speeds[j] > 0 ? large->speeds[j] / small->speeds[j] : INFINITY;
            jobs++;
        }
    return jobs > 0 ? sum / jobs : 1;
}

/* ---- Tests of a size ---------------------------------------------------------------------- */

/* No slot at all is not busy: size_search_run takes that size only if no job would run on a larger one. */
static bool is_busy_at_most (const struct size_search *search, const struct forecast *forecast,
                             double limit)
{
    (void)search;
    return !(forecast->utility > limit);
}

static bool brings (const struct size_search *search, const struct forecast *forecast, double part)
{
    return forecast->goodput >= part * search->largest.goodput;
}

static bool is_fast (const struct size_search *search, const struct forecast *forecast,
                     double limit)
{
    return size_slowdown (search->what_if, &search->largest, forecast) <= limit;
}

/* What remains of a budget beside nodes that are paid although they take no replicas: returns that take too long, and nodes that
 * the provider takes away. */
static double budget_left (const struct what_if *what_if)
{
    const struct view *view = &what_if->informed.view;
    double budget = what_if->power->goal.limit;
    for (int i = 0; i < view->node_count; i++)
        if (view->node_power[i].came && view->node_power[i].state != POWER_UP)
            budget -= what_if->power->groups[view->node_power[i].group].price_per_node_hour;
    return budget;
}

int size_goal_search (struct what_if *what_if, struct forecast *ret, struct pollux_error *err)
{
    const struct goal *goal = &what_if->power->goal;
    double middle = (goal->low + goal->high) / 2;
    struct size_search search;
    struct size_test test = {.holds = is_busy_at_most, .limit = middle};
    struct forecast best, next;
    if (goal->kind == GOAL_BUDGET)
        test = (struct size_test){.holds = brings, .limit = SAME_GOODPUT};
    else if (goal->kind == GOAL_COST)
        test = (struct size_test){.holds = is_fast, .limit = goal->limit};
    int rc = size_search_begin (
        what_if, goal->kind == GOAL_BUDGET ? budget_left (what_if) : INFINITY, &search, err);
    if (rc == 0)
        rc = size_search_run (&search, &test, &best, &next, err);
    if (rc < 0)
        return rc;
    bool nearer = fabs (next.utility - middle) < fabs (best.utility - middle);
    *ret = goal->kind == GOAL_BAND && nearer ? next : best;
    return 0;
}
