/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_NOISE_H
#define MODEL_NOISE_H

#include "pollux/pollux.h"

/* The unbiased values of one group in an update of n >= 2 micro-gradients, scale = M/M0. */
struct pollux_grad noise_estimate (double micro_sqr, double mean_sqr, double n, double scale);

/* Private to noise.c and noise_save.c.
 *
 *     weight      w in [0, 1]: the part of the averaging window that is filled
 *     biased      average is from updates with n = 1
 *     kept_m      micro-batch of the last update if that was a single one, else 0
 *     average     per group x/w, not clipped: either part may be negative; finite; zero while
 *                 weight is 0
 *     next        memory for the averages of the update that is being added
 */
struct pollux_noise {
    int groups;
    bool biased;
    int64_t init_batch, kept_m;
    double weight;
    struct pollux_grad *next;
    struct pollux_grad average[];
};

#endif
