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
 * return a double return NaN outside their domain.  There is no global state (but for
 * pollux_agent_catch): every function may be called from any thread, and on distinct objects at the
 * same time.
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
 * 1 not at all, infinity entirely.  Legal: no time below 0, alpha_grad and beta_grad not both 0,
 * gamma at least 1, all finite. */
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

/* Total batch M = K m (s+1), in samples; 0 for the batch {0, 0} where none is legal. */
double pollux_total_batch (struct pollux_shape shape, struct pollux_batch batch);

/* Seconds of one micro-step on m samples, without synchronisation. */
double pollux_grad_time (const struct pollux_model *model, int64_t m);

/* Seconds of one whole iteration: s micro-steps, then one overlapped with synchronisation.  Of the
 * constants only those that the placement needs have to be known; gamma may be infinite. */
double pollux_iter_time (const struct pollux_model *model, struct pollux_shape shape,
                         struct pollux_batch batch);

/* Samples per second. */
double pollux_throughput (const struct pollux_model *model, struct pollux_shape shape,
                          struct pollux_batch batch);

/* Noise scale phi = M0 var / sqr, in samples, for sqr >= 0 and var >= 0; infinite where
 * sqr = 0 < var, NaN where both are 0. */
double pollux_noise_scale (struct pollux_grad grad, int64_t init_batch);

/* Progress of one update with batch `scale` x M0, counted in updates with batch M0:
 * in [1, scale], up to rounding, for scale >= 1.  1 where the statistics leave it undefined (both
 * 0, or sqr estimated so far below 0).  Domain: scale > 0, var >= 0, sqr + var finite. */
double pollux_gain (struct pollux_grad grad, double scale);

/* Progress per sample relative to M0, in (0, 1], for a finite total batch >= init_batch >= 1 and
 * statistics as above. */
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
 * care, and it saves nine tenths of the time once there are many of them.  Equal inputs give
 * equal results.  Tens of samples take a fraction of a millisecond, very many not much more than
 * sorting them, for those alike in all but times count as one.
 *
 * -EINVAL if there is no sample or one is illegal, which err names, counting from 1; legal ones
 * are never refused, unless memory is short: -ENOMEM. */
int pollux_fit (const struct pollux_sample *samples, size_t count, const struct pollux_model *last,
                struct pollux_fit *ret, struct pollux_error *err);

/* The loss that pollux_fit minimises, at any model with positive parameters and gamma >= 1.  NaN
 * at others, where a sample is illegal, or where there is none. */
double pollux_fit_loss (const struct pollux_sample *samples, size_t count,
                        const struct pollux_model *model);

/* ---- Gradient noise --------------------------------------------------------------------- */

/* How noisy the gradient is, measured from what data-parallel training computes anyway.  An
 * update averages n = K (s+1) micro-gradients g_i of m samples each into gbar.  Per parameter
 * group, with P = 1 or Adam's preconditioner, measured before clipping:
 *
 *     micro_sqr = mean |g_i/P|^2          mean_sqr = |gbar/P|^2
 *
 * tell the squared norm of the true gradient and the variance of its estimate at batch M0, both
 * without bias.  Averages over about 1000 M0 samples are kept.  In a training loop:
 *
 *     each micro-step    micro_sqr[g] += pollux_sqr_f32 (gradient of the micro-batch) / n
 *     once an update     sum micro_sqr and the gradients over the replicas
 *                        mean_sqr[g] = pollux_sqr_f32 (mean gradient)
 *                        pollux_noise_update (noise, K, batch, micro_sqr, mean_sqr, &err)
 *                        pollux_rule_factor, the optimizer's step, pollux_rate_advance
 *
 * With -EDOM the update holds an inf or a NaN and must be skipped entirely, by the optimizer too.
 * Where a framework only shows each replica's gradient over all its s+1 micro-steps, that mean
 * is the micro-gradient: n = K and the micro-batch is m (s+1), so pass batch {m (s+1), 0}.
 * With loss scaling (AMP) divide gradients by the loss scale first, or all of
 * micro_sqr, mean_sqr, dot and diff_sqr by its square. */
struct pollux_noise;

/* 2^16 parameter groups: a saved state stays around 1 MB. */
#define POLLUX_GROUPS_LIMIT (1 << 16)

/* An estimator that has seen nothing yet, for groups in 1..POLLUX_GROUPS_LIMIT and M0 =
 * init_batch samples in 1..POLLUX_BATCH_LIMIT.  *ret belongs to the caller (pollux_noise_free).
 * -EINVAL outside the domain, -ENOMEM. */
int pollux_noise_new (int groups, int64_t init_batch, struct pollux_noise **ret,
                      struct pollux_error *err);

/* Takes NULL too. */
void pollux_noise_free (struct pollux_noise *noise);

/* Take in one update of n = replicas x (s+1) >= 2 micro-gradients; arrays have an entry per
 * group.  Differenced averages (pollux_noise_update_single) are dropped first.
 * Nothing changes on failure: -EDOM where a value is not finite, or the estimates overflow: skip
 * the update; -EINVAL for n = 1, a batch outside 1..POLLUX_BATCH_LIMIT, replicas outside
 * 1..POLLUX_REPLICAS_LIMIT, a negative value, or mean_sqr more than 10 % above micro_sqr, which
 * no mean can be (a sum of gradients was passed). */
int pollux_noise_update (struct pollux_noise *noise, int replicas, struct pollux_batch batch,
                         const double *micro_sqr, const double *mean_sqr, struct pollux_error *err);

/* Take in one update of a single micro-gradient g1 of m samples, n = 1, by comparing it with the
 * gradient g0 of the update before, which the caller has kept:
 *
 *     dot = (g0/P).(g1/P)                 diff_sqr = |(g0 - g1)/P|^2
 *
 * per group, as pollux_pair_f32 computes them.  The drift between the two updates counts as
 * noise, so these averages are biased.  Both arrays are NULL where there is no g0: after a start,
 * or if it was not kept.  They are ignored where g0 had another m or n, see pollux_noise_paired.
 * After success keep g1 for the next update.
 * The estimate does not change on failure: -EDOM where a value is not finite: skip the update, and
 * start anew without g0; -EINVAL for m outside 1..POLLUX_BATCH_LIMIT, one array without the
 * other, or a negative diff_sqr. */
int pollux_noise_update_single (struct pollux_noise *noise, int64_t m, const double *dot,
                                const double *diff_sqr, struct pollux_error *err);

/* Whether the last update taken in was a single one with this m, so that a kept gradient can be
 * compared with: false saves computing dot and diff_sqr. */
bool pollux_noise_paired (const struct pollux_noise *noise, int64_t m);

/* The estimate at batch M0, summed over the groups: sqr >= 0 and var >= 0, where var is at least
 * 1e-12 (sqr + var), since rounding hides what is smaller.  {1, 0}, no noise, before the first
 * estimate. */
struct pollux_grad pollux_noise_grad (const struct pollux_noise *noise);

/* The same of one group, counted from 0.  NaN for a group that does not exist. */
struct pollux_grad pollux_noise_group (const struct pollux_noise *noise, int group);

/* Whether the estimate holds differenced (n = 1) values, which overstate the noise. */
bool pollux_noise_biased (const struct pollux_noise *noise);

/* How full the averaging window is: 0 before the first estimate, 0.63 after 1000 M0 samples,
 * towards 1. */
double pollux_noise_weight (const struct pollux_noise *noise);

/* The state as pollux_noise_size bytes, 64 + 16 per group, equal on all machines; -ENOSPC where
 * size is less.  A restored estimator continues bit by bit; the kept gradient of n = 1 is not in
 * it: save that too, or pass NULL once. */
size_t pollux_noise_size (const struct pollux_noise *noise);
int pollux_noise_save (const struct pollux_noise *noise, void *ret, size_t size,
                       struct pollux_error *err);

/* Replace the state of an estimator by one saved with equal groups and init_batch.  Any bytes may
 * be offered: -EINVAL says what is wrong with them, and the estimator is as before. */
int pollux_noise_restore (struct pollux_noise *noise, const void *data, size_t size,
                          struct pollux_error *err);

/* Adam's preconditioner P = sqrt (exp_avg_sq / (1 - beta2^step)) + eps, element by element;
 * P = 1 for step < 5.  step counts the updates that exp_avg_sq has seen.  All norms of one update
 * take P as it was before that update.  Legal: 0 <= beta2 < 1, eps >= 0, step >= 0. */
struct pollux_adam {
    double beta2, eps;
    int64_t step;
};

/* |g/P|^2 of an array.  adam and exp_avg_sq are NULL for P = 1; else exp_avg_sq is as long as g.
 * Summed in double: correct to 1e-14 for any length while the result is within 1e-290..1e+290,
 * that is for all floats and for doubles of 1e-145..1e+145.  Not finite if an element is not;
 * NaN outside adam's domain.  A gradient of several arrays: add their results. */
double pollux_sqr_f32 (const float *g, size_t length, const float *exp_avg_sq,
                       const struct pollux_adam *adam);
double pollux_sqr_f64 (const double *g, size_t length, const double *exp_avg_sq,
                       const struct pollux_adam *adam);

/* What pollux_noise_update_single asks of two gradients. */
struct pollux_pair {
    double dot, diff_sqr;
};

/* Both in one pass, with the same rules; the error of dot is relative to the sum of |g0 g1/P^2|. */
struct pollux_pair pollux_pair_f32 (const float *g0, const float *g1, size_t length,
                                    const float *exp_avg_sq, const struct pollux_adam *adam);
struct pollux_pair pollux_pair_f64 (const double *g0, const double *g1, size_t length,
                                    const double *exp_avg_sq, const struct pollux_adam *adam);

/* ---- Learning-rate rules ---------------------------------------------------------------- */

/* How the user's learning rate, chosen for batch M0, follows a batch M.  A rule gives a factor
 * on the rate of one optimizer step; learning-rate schedulers keep seeing the base rate:
 *
 *     adascale    gain of the parameter group      SGD, and the default for other optimizers
 *     adamscale   sqrt (gain) of the group         the default for Adam and AdamW
 *     linear      M/M0
 *     sqrt        sqrt (M/M0)
 *     legw        sqrt (M/M0) min (1, progress / (warm-up epochs x M/M0 x dataset/M0))
 *
 * M may be less than M0, as in the last update of a pass.  Its samples count as they do in M0, so
 * here and in progress its gain is M/M0.
 */
struct pollux_rule;

/* Where training stands.  Progress is scale-invariant: it counts updates with batch M0 and grows
 * by the gain of each update, so equal progress means equally far, whatever the batches were; it
 * is the clock for schedules and for the end of training.  Start at 0 and save it with
 * the checkpoint.  Only legw reads the last two: warm-up epochs of the user's recipe at M0
 * (0: none) and samples in the dataset. */
struct pollux_rate {
    int64_t init_batch, total_batch;
    double progress;
    double warmup_epochs;
    int64_t dataset_size;
};

/* A rule by its name.  The rule is a constant of the library.  -ENOENT lists the names. */
int pollux_rule_by_name (const char *name, const struct pollux_rule **ret,
                         struct pollux_error *err);

/* All rules: index 0, 1, ... until NULL. */
const struct pollux_rule *pollux_rule_at (size_t index);
const char *pollux_rule_name (const struct pollux_rule *rule);

/* The factor for a parameter group whose estimate is grad (pollux_noise_group).  Legal:
 * init_batch, total_batch and, for legw, dataset_size in 1..POLLUX_BATCH_LIMIT, progress >= 0,
 * warmup_epochs >= 0, sqr >= 0, var >= 0, all finite and sqr + var too; NaN outside.  legw gives 0
 * at progress 0. */
double pollux_rule_factor (const struct pollux_rule *rule, const struct pollux_rate *rate,
                           struct pollux_grad grad);

/* After an optimizer step with batch total_batch: add the gain, by the statistics summed over
 * groups (pollux_noise_grad), to the progress, whatever the rule.  Returns the gain; NaN, and
 * progress as it was, outside the domain.  Not to be called for a skipped update. */
double pollux_rate_advance (struct pollux_rate *rate, struct pollux_grad grad);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The agent inside a training program, and what it needs to be stopped and resumed. */
#include <pollux/agent.h>
#include <pollux/checkpoint.h>
#endif
