/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PROFILE_H
#define AGENT_PROFILE_H

#include "pollux/pollux.h"

/* Step times of a job, a mean for each (N, K, m) that was measured.  64 of them: a fit of so many
 * takes about a millisecond.  One more takes the place of the one not met for longest. */
enum { PROFILE_LIMIT = 64 };

struct profile_entry {
    struct pollux_shape shape;
    int64_t m;
    double grad_s, step_s;
    int64_t steps;   /* in the means */
    uint64_t met_at; /* the larger, the later it was met */
};

struct profile {
    int count;
    int max_replicas; /* the most that was ever measured with; 0: nothing was */
    uint64_t steps;   /* taken in, ever */
    struct profile_entry entries[PROFILE_LIMIT];
};

/* Take in a step: a micro-step without synchronisation, and the last one with it.  False for times
 * that pollux_fit would refuse; nothing changes. */
bool profile_add (struct profile *profile, struct pollux_shape shape, int64_t m, double grad_s,
                  double step_s);

/* The means as samples for pollux_fit; returns their number. */
size_t profile_samples (const struct profile *profile, struct pollux_sample ret[PROFILE_LIMIT]);

#endif
