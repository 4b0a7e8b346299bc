/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adam divides by the root of an average of squared gradients, which remembers the batches of the last
 * 1/(1 - beta2) updates.  With batch M a squared gradient is expected to be 1/gain of that with M0.  To
 * advance as far as `gain` updates with M0, the learning rate needs the factor
 *
 *     gain sqrt (now / init)        now: the average as it is; init: as it would be with M0
 *
 * Right after a change of the batch this is the gain; when the old batch is forgotten, sqrt (gain).
 * Gradients shrink while a model is trained, so the old ones count more: `energy`, the squared norm of a
 * gradient with M0, weights the updates.  It is measured now and then, and held in between.
 */
#ifndef AGENT_SECOND_MOMENT_H
#define AGENT_SECOND_MOMENT_H

#include <stdbool.h>

/* All zero at the start. */
struct second_moment {
    double now, init;
    double energy; /* 0: not measured yet, counts as 1 */
};

/* A gradient of an update with this gain has this squared norm.  Ignored if it is not a positive
 * number. */
void second_moment_measure (struct second_moment *moment, double sqr, double gain);

/* The average after an update with this gain, at least 1. */
struct second_moment second_moment_next (struct second_moment moment, double beta2, double gain);

/* The factor for that update, from the average after it. */
double second_moment_factor (struct second_moment next, double gain);

/* True if the values are possible: read from a file, they may be anything. */
bool second_moment_is_legal (const struct second_moment *moment);

#endif
