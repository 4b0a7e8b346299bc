/* SPDX-License-Identifier: Apache-2.0 */
/* When the jobs of a workload are submitted; generate.c makes jobs of them. */
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "base/rng.h"
#include "sim/workload_generate.h"

struct arrival {
    double at_s;   /* whole seconds since the workload's start */
    double slot_s; /* how much it took; NaN: nobody knows */
    int order;     /* of its draw, among arrivals at the same time */
};

/* Draw the arrivals of a recipe that was checked, in the order of time: exactly recipe->jobs, or
 * as many as arrive, at least one.  On success *ret is the caller's (free). */
int arrivals_draw (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                   int *ret_count, struct pollux_error *err);

/* The same from recipe->history. */
int arrivals_sample (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                     int *ret_count, struct pollux_error *err);

#endif
