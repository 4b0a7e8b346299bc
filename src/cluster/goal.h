/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the size of a cluster aims at:
 *
 *     fixed             every group has its minimum of nodes, or those that it began with
 *     band:LOW,HIGH     keep the utility between LOW and HIGH.  Utility: the sum over jobs of the goodput relative
 *                       to that on one replica, divided by the slots
 *     budget:X          the most goodput for at most X per hour
 *     cost:F            the least cost per unit of progress, with a mean slowdown of at most F against the largest size
 */
#ifndef CLUSTER_GOAL_H
#define CLUSTER_GOAL_H

#include "pollux/pollux.h"

enum goal_kind { GOAL_FIXED, GOAL_BAND, GOAL_BUDGET, GOAL_COST };

struct goal {
    enum goal_kind kind;
    double low, high; /* of a band, 0 < low < high <= 1 */
    double limit;     /* the budget per hour, from 0; or the largest mean slowdown, from 1 */
};

/* Longest text of a goal with its NUL: three numbers of 24 characters. */
enum { GOAL_SIZE = 64 };

/* -EINVAL: the sentence says what is expected. */
int goal_parse (const char *text, struct goal *ret, struct pollux_error *err);

/* The text of a goal, which goal_parse reads. */
void goal_format (const struct goal *goal, char ret[GOAL_SIZE]);

#endif
