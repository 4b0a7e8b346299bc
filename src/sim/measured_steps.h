/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step times from measurements.  Replicas on more nodes than were measured count as spread over the most measured ones.  A measured placement is interpolated between its batches; other
 * placements between the points (nodes, replicas, m) of all measurements; outside of them the
 * throughput model fitted to all measurements gives the times.
 */
#ifndef SIM_MEASURED_STEPS_H
#define SIM_MEASURED_STEPS_H

#include "sim/app.h"

/* A placement as a number: its lexicographically smallest rotation, a digit per node, so that
 * 4,1,3 is 134.  0 if that is impossible: more than 18 nodes, or more than 9 replicas on one. */
uint64_t placement_key (const int *counts, int nodes);

/* Measured times of one micro-step. */
struct measurement {
    uint64_t key; /* of the placement; 0: only its shape is known */
    struct pollux_shape shape;
    int64_t m;
    double step_s, sync_s;
};

/* Make step times of placed_count >= 1 measurements with keys, which this function sorts, and
 * shaped_count without.  *ret is the self of timing_measured.  0, -ENOMEM, or -EINVAL if a
 * placement has the same batch twice. */
int measured_new (struct measurement *placed, int placed_count, const struct measurement *shaped,
                  int shaped_count, void **ret, struct pollux_error *err);

extern const struct timing timing_measured;

#endif
