/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ROUND_SUMMARY_H
#define CLUSTER_ROUND_SUMMARY_H

#include "cluster/event.h"

/* A round in short: what it decided and what it cost.  Unknown numbers are NaN. */
struct round_summary {
    int64_t seq, at_us; /* of the ROUND event */
    char policy[NAME_SIZE];
    bool fill;
    double fitness, bound, price;
    double decide_s;
    int jobs;       /* that it decided on */
    int restarts;   /* running ones that it moves, resizes or stops */
    int used_slots; /* by its plan */
};

#endif
