/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ROUND_SUMMARY_H
#define CLUSTER_ROUND_SUMMARY_H

#include "cluster/event.h"

/* A longer line is cut: there are a thousand of them. */
enum { ROUND_TEXT_SIZE = 256 };

/* Summary of a round: its decision and the time it took.  Unknown numbers are NaN. */
struct round_summary {
    int64_t seq, at_us; /* of the ROUND event */
    char policy[NAME_SIZE];
    double p;                        /* as in the view */
    struct policy_settings settings; /* other options of the policy that were set */
    bool fill;
    double fitness, bound, price;
    double decide_s;
    int jobs;                   /* in the view */
    int restarts;               /* running jobs that it moves, resizes or stops */
    int used_slots;             /* by its plan */
    int changed;                /* jobs that its plan places differently; -1: unknown */
    char text[ROUND_TEXT_SIZE]; /* what it changes, in a line; empty: nothing */
};

#endif
