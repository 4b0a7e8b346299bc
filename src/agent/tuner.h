/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner: when to fit, and the present batch.  Time is an argument, in seconds
 * of any monotonic clock.
 */
#ifndef AGENT_TUNER_H
#define AGENT_TUNER_H

#include "agent/profile.h"
#include "model/adaptation.h"

struct tuner {
    struct pollux_limits limits;
    struct pollux_shape shape;
    double period_s;
    bool fixed;                /* the program sets the batch */
    bool few_sizes;            /* as in struct pollux_setup */
    struct pollux_batch batch; /* the present one */

    bool fitted;
    struct pollux_fit fit;
    struct pollux_best best; /* predicted by the fit */
    uint64_t fitted_steps;   /* profile.steps at the last fit */
    int fitted_count;        /* profile.count at the last fit */
    double fitted_at_s;      /* -INFINITY: no fit in this generation */
};

/* Start.  The first batch is M0 divided among the replicas, as near as the limits allow. */
void tuner_start (struct tuner *tuner, const struct pollux_limits *limits,
                  struct pollux_shape shape, double period_s);

/* Continue with a total batch of an earlier generation, divided among the replicas. */
void tuner_resume (struct tuner *tuner, int64_t total_batch);

/* Fix the batch; m = 0: choose it again. */
void tuner_fix (struct tuner *tuner, struct pollux_batch batch);

/* Fit if it is due and there are new steps.  choice_due: a batch is to be chosen.  True: there is a new fit. */
bool tuner_refit (struct tuner *tuner, const struct profile *profile, struct pollux_grad grad,
                  bool choice_due, double now_s);

/* Choose the batch; needs a fit.  True: it has changed. */
bool tuner_choose (struct tuner *tuner, struct pollux_grad grad);

#endif
