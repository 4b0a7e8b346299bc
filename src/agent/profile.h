/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PROFILE_H
#define AGENT_PROFILE_H

#include "pollux/pollux.h"

/* Mean step times of a job, for each measured (N, K, m).  At most 64: a fit of 64 takes about a
 * millisecond.  A new one replaces the one that was least recently measured. */
enum { PROFILE_LIMIT = 64 };

struct profile_entry {
    struct pollux_shape shape;
    int64_t m;
    double grad_s, step_s;
    int64_t steps;   /* in the means */
    uint64_t met_at; /* larger: measured more recently */
};

struct profile {
    int count;
    int max_replicas; /* largest number of replicas that was measured; 0: none */
    uint64_t steps;   /* measured in total */
    struct profile_entry entries[PROFILE_LIMIT];
};

/* Add a step: times of a micro-step without synchronisation, and of the last one with it.  False,
 * with no change, for times that pollux_fit would refuse. */
bool profile_add (struct profile *profile, struct pollux_shape shape, int64_t m, double grad_s,
                  double step_s);

/* The mean step time of a configuration, with synchronisation; NaN: not measured. */
double profile_step_s (const struct profile *profile, struct pollux_shape shape, int64_t m);

/* The means as samples for pollux_fit; returns their number. */
size_t profile_samples (const struct profile *profile, struct pollux_sample ret[PROFILE_LIMIT]);

#endif
