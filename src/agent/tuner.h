/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The habits of re-tuning: when to fit, when to choose a batch, when to change it.  Time is an
 * argument, in seconds on any clock that does not go back.
 */
#ifndef AGENT_TUNER_H
#define AGENT_TUNER_H

#include "agent/profile.h"

struct tuner {
    struct pollux_limits limits;
    struct pollux_shape shape;
    double period_s;
    bool fixed;                /* the batch is not for us to choose */
    struct pollux_batch batch; /* now */

    bool fitted;
    struct pollux_fit fit;
    struct pollux_best best; /* with the fit */
    uint64_t fitted_steps;   /* steps of the profile that the fit has seen */
    double fitted_at_s;      /* -INFINITY: not in this generation */

    bool adopted;       /* a batch was chosen since the start */
    bool has_passes;    /* the program tells when a pass begins */
    bool pass_begun;    /* and one has, since the last choice */
    double chosen_at_s; /* -INFINITY: never */
};

/* The first batch is M0 over the replicas, as near as the limits allow. */
void tuner_start (struct tuner *tuner, const struct pollux_limits *limits,
                  struct pollux_shape shape, double period_s);

/* Train with this batch; m = 0: choose. */
void tuner_fix (struct tuner *tuner, struct pollux_batch batch);

/* Fit again, if it is time and there is something new.  True if there is a new fit. */
bool tuner_refit (struct tuner *tuner, const struct profile *profile, struct pollux_grad grad,
                  double now_s);

/* Choose the batch, if it is time.  True if it has changed. */
bool tuner_choose (struct tuner *tuner, struct pollux_grad grad, double now_s);

#endif
