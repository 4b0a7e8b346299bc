/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes.  One replica with one micro-step per update has a single gradient, which does not show its noise.
 * In a probe the update has two micro-steps, each with half of the samples, so that their gradients can
 * be compared.  It costs one more start of a micro-step.
 */
#ifndef MODEL_PROBE_H
#define MODEL_PROBE_H

#include <stdint.h>

#include "pollux/pollux.h"

/* Adam's averages are not usable before PROBE_FIRST_ADAM. */
enum { PROBE_FIRST_ADAM = 10, PROBE_FIRST_COUNT = 16 };

/* Updates between two probes after the first ones: at the beginning noise changes fast, and there are few
 * measurements of it. */
enum { PROBE_PERIOD_EARLY = 4, PROBE_EARLY = 128, PROBE_PERIOD = 8 };

/* True if this update, counted from 0 since the training began, is a probe. */
bool probe_is_due (uint64_t update, bool adam);

/* True if a job on these replicas probes: there is one replica, and the batch may grow. */
bool probe_is_needed (const struct pollux_limits *limits, int replicas);

/* The batch of a probe instead of {m, 0}: two halves, or, if they would be below min_local, two
 * micro-steps of m.  The batch itself if neither is legal. */
struct pollux_batch probe_batch (const struct pollux_limits *limits, struct pollux_batch batch);

#endif
