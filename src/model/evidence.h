/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence of the gradient's noise, on which the agent changes the batch.
 *
 * An update of n >= 2 micro-gradients gives two unbiased values: q, the squared norm of the true
 * gradient, and u, the variance of its estimate at batch M0.  Both are averaged with the weight
 *
 *     w = (M / M0) 0.999^(progress since then)
 *
 * A few values can be wrong by any factor, so the standard error of q is kept as well:
 *
 *     SE = sqrt (sum w^2 (q - mean)^2) / sum w           count = (sum w)^2 / sum w^2
 *
 * and decisions use sqr+ = max (mean q, 0) + SE + M0 var / N instead of the mean of q: the last term
 * is the noise of a mean over N samples, below which no gradient is known.  N is the size of the data at
 * first, and more later (adaptation_grad).
 */
#ifndef MODEL_EVIDENCE_H
#define MODEL_EVIDENCE_H

#include "pollux/pollux.h"

/* All zero at the start. */
struct evidence {
    double weight, weight2; /* sums of w and of w^2 */
    double sqr, var;        /* means of q and u, weighted by w */
    double size;            /* mean of |q|, weighted by w */
    double sqr2, root2;     /* mean of q and root of the mean of q^2, weighted by w^2 */
};

/* Add the values of one update, scale = M/M0 > 0, both finite.  Values far from all earlier ones are
 * reduced: one outlier must not decide. */
void evidence_add (struct evidence *evidence, double sqr, double var, double scale);

/* Replace the means, and keep the weights: for values that are averages already. */
void evidence_set_mean (struct evidence *evidence, double sqr, double var);

/* The training has advanced by some updates with batch M0. */
void evidence_age (struct evidence *evidence, double progress);

/* The effective number of updates; 0: none. */
double evidence_count (const struct evidence *evidence);

/* The standard error of the mean of q; 0 without updates. */
double evidence_error (const struct evidence *evidence);

/* {sqr+, var}, for M0 = init_batch and N = samples (0: unknown, a stream).  {1, 0}, no
 * noise, without updates. */
struct pollux_grad evidence_grad (const struct evidence *evidence, int64_t init_batch,
                                  double samples);

/* M0 mean(u) / mean(q), the noise scale in samples.  NaN if it is unknown: no updates, or q <= 0. */
double evidence_noise (const struct evidence *evidence, int64_t init_batch);

/* True if the sums are possible: read from a file, they may be anything. */
bool evidence_is_legal (const struct evidence *evidence);

#endif
