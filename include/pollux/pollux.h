/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpollux: the goodput of a training job, as plain functions.
 *
 *     goodput = throughput x efficiency         (useful samples per second)
 *
 * Throughput follows from seven parameters fitted to measured step times, efficiency from the
 * noise of the gradient.  Together they tell how fast a job would train on any number of GPUs
 * with any batch size, hence which batch size is best, and what one GPU more is worth.
 *
 * Words: K replicas on N nodes; m samples in one replica's micro-batch; s extra accumulation
 * steps before each update; M = K m (s+1) the total batch; M0 the user's own total batch.
 *
 * Conventions.  Functions that can be refused return 0 or a negative errno value, write their
 * outputs (ret) only on success, and put a sentence into err, which may be NULL.  Functions that
 * return a double return NaN outside their domain.  There is no global state: every function may
 * be called from any thread, and on distinct objects at the same time.
 */
#ifndef POLLUX_POLLUX_H
#define POLLUX_POLLUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define POLLUX_VERSION "0.1.0"

/* The version of the library that is linked, which may be newer than the header's. */
const char *pollux_version (void);

/* Why a call was refused: one sentence that names the thing and the repair. */
struct pollux_error {
    char text[256];
};

/* ---- Goodput ---------------------------------------------------------------------------- */

/* The throughput model.  All times in seconds: one micro-step computes for
 * alpha_grad + beta_grad m; the replicas' gradients are summed in alpha + beta (K-2), with the
 * constants of one node (local) or of many (node).  gamma >= 1 says how far the two overlap:
 * 1 not at all, infinity entirely. */
struct pollux_model {
    double alpha_grad, beta_grad;
    double alpha_node, beta_node;
    double alpha_local, beta_local;
    double gamma;
};

/* Gradient statistics at batch M0: squared norm of the true gradient, and total variance of the
 * gradient's estimate.  The noise scale is phi = M0 var / sqr, in samples. */
struct pollux_grad {
    double sqr, var;
};

/* All that the model needs to know of a placement: 1 <= nodes <= replicas. */
struct pollux_shape {
    int nodes, replicas;
};

/* A batch on one replica: m >= 1 samples in a micro-batch, s >= 0 extra accumulation steps. */
struct pollux_batch {
    int64_t m, s;
};

/* What a job may choose from, in samples: M0 <= M <= max_batch, min_local <= m <= max_local,
 * s > 0 only with accumulation.  Legal: 1 <= init_batch <= max_batch <= POLLUX_BATCH_LIMIT and
 * 1 <= min_local <= max_local. */
struct pollux_limits {
    int64_t init_batch, max_batch;
    int64_t min_local, max_local;
    bool accumulation;
};

/* 2^40 samples: products of a batch and a replica count stay exact in a double. */
#define POLLUX_BATCH_LIMIT ((int64_t)1 << 40)
/* 2^20 replicas of one job, several times the largest cluster we know. */
#define POLLUX_REPLICAS_LIMIT (1 << 20)

/* Total batch M = K m (s+1), in samples. */
double pollux_total_batch (struct pollux_shape shape, struct pollux_batch batch);

/* Seconds of one micro-step on m samples, without synchronisation. */
double pollux_grad_time (const struct pollux_model *model, int64_t m);

/* Seconds of one whole iteration: s micro-steps, then one overlapped with synchronisation. */
double pollux_iter_time (const struct pollux_model *model, struct pollux_shape shape,
                         struct pollux_batch batch);

/* Samples per second. */
double pollux_throughput (const struct pollux_model *model, struct pollux_shape shape,
                          struct pollux_batch batch);

/* Noise scale phi = M0 var / sqr, in samples; infinite where sqr = 0 < var. */
double pollux_noise_scale (struct pollux_grad grad, int64_t init_batch);

/* Progress of one update with batch `scale` x M0, counted in updates with batch M0:
 * in [1, scale] for scale >= 1.  1 where the statistics leave it undefined. */
double pollux_gain (struct pollux_grad grad, double scale);

/* Progress per sample relative to M0, in (0, 1], for a total batch >= init_batch. */
double pollux_efficiency (struct pollux_grad grad, int64_t init_batch, double total_batch);

/* Useful samples per second: throughput x efficiency, for M >= init_batch. */
double pollux_goodput (const struct pollux_model *model, struct pollux_grad grad,
                       int64_t init_batch, struct pollux_shape shape, struct pollux_batch batch);

/* ---- The best batch --------------------------------------------------------------------- */

enum pollux_search {
    POLLUX_EXACT,     /* every legal (m, s), max_batch a hard limit */
    POLLUX_REFERENCE, /* the 50 geometrically spaced batches of the published implementation */
};

/* The best choice for a placement.  goodput 0 and batch {0, 0} where no batch is legal. */
struct pollux_best {
    struct pollux_batch batch;
    double goodput;
};

/* The batch with most goodput on a placement; the smaller total batch on a tie.
 * -EINVAL for a model, statistics, limits or shape outside their domain. */
int pollux_best_batch (const struct pollux_model *model, struct pollux_grad grad,
                       const struct pollux_limits *limits, enum pollux_search search,
                       struct pollux_shape shape, struct pollux_best *ret,
                       struct pollux_error *err);

/* The best choices for 1..max_replicas replicas at once: one_node[K-1] for K replicas on one
 * node, many_nodes[K-1] on two nodes or more (all the same to the model; K = 1 has none:
 * goodput 0).  Either array may be NULL.  Equal to pollux_best_batch point by point, but checks
 * its inputs once and allocates nothing. */
int pollux_curve (const struct pollux_model *model, struct pollux_grad grad,
                  const struct pollux_limits *limits, enum pollux_search search, int max_replicas,
                  struct pollux_best *one_node, struct pollux_best *many_nodes,
                  struct pollux_error *err);

/* ---- Fitting the throughput model ------------------------------------------------------- */

/* Mean times of steps measured on one placement with one micro-batch: of a micro-step without
 * synchronisation, and of the whole last micro-step with it (an iteration at s = 0).  Legal:
 * 1 <= nodes <= replicas <= POLLUX_REPLICAS_LIMIT, 1 <= m <= POLLUX_BATCH_LIMIT, times within
 * 1e-9..1e9 seconds.  weight, within 1e-9..1e9, counts like that many equal samples; 1 is usual. */
struct pollux_sample {
    struct pollux_shape shape;
    int64_t m;
    double grad_s, step_s;
    double weight;
};

/* A fitted model and what it is worth: the errors are root mean squares over the samples of the
 * logarithm's error, so that 0.1 means about 10 %, and loss is what the fit minimises,
 *
 *     grad_error + step_error + 1e-3 (gamma-1)^2
 *         + 1e-2 ((beta_node/alpha_node)^2 + (beta_local/alpha_local)^2)
 *
 * with alphas and betas >= 1e-8 s and 1 <= gamma <= 10. */
struct pollux_fit {
    struct pollux_model model;
    double loss;
    double grad_error, step_error;
};

/* Fit the seven parameters to count >= 1 samples, in any order.
 *
 * Where the samples say nothing of a parameter a prior stands in, optimistic so that a job
 * explores: with one m only, alpha_grad is half the mean grad_s; an alpha or beta of a kind of
 * placement not seen is 1e-8 s, and so are both betas if all samples have one or two replicas.
 * After the loss was taken, without a sample of many nodes, alpha_node and beta_node are raised
 * to 1.1 times the local ones.
 *
 * last, which may be NULL, is the job's previous model: it is kept as far as the samples do not
 * care.  Equal inputs give equal results.  Tens of samples take a fraction of a millisecond, very
 * many not much more than sorting them, for those alike in all but times count as one.
 *
 * -EINVAL if there is no sample or one is illegal, which err names, counting from 1; legal ones
 * are never refused, unless memory is short: -ENOMEM. */
int pollux_fit (const struct pollux_sample *samples, size_t count, const struct pollux_model *last,
                struct pollux_fit *ret, struct pollux_error *err);

/* The loss that pollux_fit minimises, at any model with positive parameters.  NaN where a sample
 * is illegal or there is none. */
double pollux_fit_loss (const struct pollux_sample *samples, size_t count,
                        const struct pollux_model *model);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
