/* SPDX-License-Identifier: Apache-2.0 */
/* What the goals of a cluster ask for. */
#ifndef SCALING_SIZE_GOAL_H
#define SCALING_SIZE_GOAL_H

#include "scaling/what_if.h"

/* The mean utility of the latest rounds since the last change, at most UTILITY_ROUNDS, with the present one. */
double size_mean_utility (const struct view *view, const struct forecast *now);

/* True if no other size needs to be looked for: the mean utility is in the band.  Other goals always look. */
bool size_goal_met (const struct view *view, const struct forecast *now);

/* The best size for the goal:
 *
 *     band      its utility is nearest the middle
 *     budget    the cheapest that brings practically the goodput of the largest one that can be paid
 *     cost      the smallest with a mean slowdown of at most F against the largest one: the price of a unit of progress rises
 *               with the size, because goodput rises less than in proportion
 *
 * It is never above the maximum of a group or the budget, except if the minimum is. */
int size_goal_search (struct what_if *what_if, struct forecast *ret, struct pollux_error *err);

/* The mean over jobs of the goodput on a large size, relative to that on a small one.  A job that waits on the large one does not
 * count; one that waits on the small one only is infinitely slow. */
double size_slowdown (const struct what_if *what_if, const struct forecast *large,
                      const struct forecast *small);

#endif
