/* SPDX-License-Identifier: Apache-2.0 */
/* Times of submission of a workload; workload_generate.c makes jobs of them. */
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "base/rng.h"
#include "sim/workload_generate.h"

struct arrival {
    double at_s;   /* whole seconds since the workload's start */
    double slot_s; /* slot time in a history; NaN: unknown */
    int order;     /* of the draw: breaks ties of at_s */
};

/* Draw the arrivals of a checked recipe, sorted by time: recipe->jobs, or a Poisson number if that is
 * 0.  On success *ret belongs to the caller (free).  -EINVAL: none, or too many. */
int arrivals_draw (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                   int *ret_count, struct pollux_error *err);

/* The same from recipe->history. */
int arrivals_sample (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                     int *ret_count, struct pollux_error *err);

#endif
