/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for a size.  Groups are ranked by what they bring for their price.  From the largest size, nodes are removed from
 * the worst group first: a line of sizes, on which bisection finds the smallest one that is good enough.
 *
 * Questions: one for each group if there are several, and one for each bit of the number of nodes: at most 16 + 17, with one
 * group of 32 nodes 6.
 */
#ifndef SCALING_SIZE_SEARCH_H
#define SCALING_SIZE_SEARCH_H

#include "scaling/what_if.h"

struct size_search {
    struct what_if *what_if;
    int least[NODE_GROUPS_LIMIT], most[NODE_GROUPS_LIMIT]; /* nodes by group */
    int order[NODE_GROUPS_LIMIT];                          /* groups, the best first */
    struct forecast largest;                               /* with `most` nodes */
    int misfits;                                           /* jobs that do not fit even there */
};

/* Is this size good enough?  Holds for smaller ones only if it holds for larger ones. */
struct size_test {
    bool (*holds) (const struct size_search *search, const struct forecast *forecast, double limit);
    double limit;
};

/* Prepare: limits, ranks, and the question about the largest size.  Nothing grows in a group with a failed order; nodes that
 * cannot be emptied stay.  budget: most price per hour; INFINITY: none.  The least size may be above it. */
int size_search_begin (struct what_if *what_if, double budget, struct size_search *ret,
                       struct pollux_error *err);

/* The smallest size on the line that passes the test and on which no job fits nowhere that fits on the largest one; the largest
 * if none passes.  next, if not NULL: the next smaller one, or the same at the end of the line. */
int size_search_run (const struct size_search *search, const struct size_test *test,
                     struct forecast *ret, struct forecast *next, struct pollux_error *err);

#endif
