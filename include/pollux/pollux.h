/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpollux: the goodput of a training job, as plain functions.
 *
 *     goodput = throughput x efficiency         (useful samples per second)
 *
 * Throughput follows from seven parameters fitted to measured step times, efficiency from the
 * noise of the gradient.  Together they predict how fast a job would train on any number of GPUs
 * with any batch size: which batch size is best, and what one more GPU gains.
 *
 * Words: K replicas on N nodes; m samples in one replica's micro-batch; s extra accumulation
 * steps before each update; M = K m (s+1) the total batch; M0 the user's own total batch.
 *
 * Conventions.  Functions that can fail return 0 or a negative errno value.  They write their
 * outputs (ret) only on success; on failure they write a sentence into err, which may be NULL.
 * Functions that return a double return NaN outside of their domain.  There is no global state,
 * except for pollux_agent_catch: any thread may call any function, also at the same time if the
 * objects are distinct.
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

/* The version of the linked library; it may be newer than this header. */
const char *pollux_version (void);

/* Why a call failed: one sentence that names the cause and the repair. */
struct pollux_error {
    char text[256];
};

/* ---- Goodput ---------------------------------------------------------------------------- */

/* The throughput model.  All times in seconds: one micro-step computes for
 * alpha_grad + beta_grad m; the replicas' gradients are summed in alpha + beta (K-2), with the
 * constants of one node (local) or of several nodes (node).  gamma >= 1 is the degree of overlap of
 * the two: 1 is none, infinity is complete.  Legal: all times >= 0, alpha_grad + beta_grad > 0,
 * gamma >= 1, all finite. */
struct pollux_model {
    double alpha_grad, beta_grad;
    double alpha_node, beta_node;
    double alpha_local, beta_local;
    double gamma;
};

/* Gradient statistics at batch M0.  sqr: squared norm of the true gradient; var: total variance of
 * its estimate.  The noise scale is phi = M0 var / sqr, in samples.
 * gain_max is the largest gain that the job uses, at least 1; 0: no limit.  A job with such a limit
 * probes its noise now and then (pollux/agent.h), so one replica needs no accumulation to measure it:
 * POLLUX_EXACT then allows every s. */
struct pollux_grad {
    double sqr, var;
    double gain_max;
};

/* A placement as the model sees it: 1 <= nodes <= replicas. */
struct pollux_shape {
    int nodes, replicas;
};

/* A batch on one replica: m >= 1 samples in a micro-batch, s >= 0 extra accumulation steps. */
struct pollux_batch {
    int64_t m, s;
};

/* The batches that a job may use, in samples: M0 <= M <= max_batch, min_local <= m <= max_local,
 * s > 0 only with accumulation.  Legal: 1 <= init_batch <= max_batch <= POLLUX_BATCH_LIMIT and
 * 1 <= min_local <= max_local. */
struct pollux_limits {
    int64_t init_batch, max_batch;
    int64_t min_local, max_local;
    bool accumulation;
};

/* 2^40 samples: products of a batch and a replica count stay exact in a double. */
#define POLLUX_BATCH_LIMIT ((int64_t)1 << 40)
/* 2^20 replicas of one job: several times the largest known cluster. */
#define POLLUX_REPLICAS_LIMIT (1 << 20)

/* Total batch M = K m (s+1), in samples; 0 for the batch {0, 0}, which means that none is legal. */
double pollux_total_batch (struct pollux_shape shape, struct pollux_batch batch);

/* Seconds of one micro-step on m samples, without synchronisation. */
double pollux_grad_time (const struct pollux_model *model, int64_t m);

/* Seconds of one iteration: s micro-steps, then one that overlaps with synchronisation.  Constants
 * that the placement does not use may be NaN; gamma may be infinite. */
double pollux_iter_time (const struct pollux_model *model, struct pollux_shape shape,
                         struct pollux_batch batch);

/* Samples per second. */
double pollux_throughput (const struct pollux_model *model, struct pollux_shape shape,
                          struct pollux_batch batch);

/* Noise scale phi = M0 var / sqr, in samples, for sqr >= 0 and var >= 0.  Infinite if
 * sqr = 0 < var; NaN if both are 0. */
double pollux_noise_scale (struct pollux_grad grad, int64_t init_batch);

/* Progress of one update with batch `scale` x M0, counted in updates with batch M0:
 * in [1, scale], up to rounding, for scale >= 1, and at most gain_max.  1 if var / scale + sqr <= 0,
 * where the formula is undefined.  Domain: scale > 0, var >= 0, sqr + var finite. */
double pollux_gain (struct pollux_grad grad, double scale);

/* Progress per sample relative to M0, in (0, 1], for a finite total batch >= init_batch >= 1 and
 * statistics as above. */
double pollux_efficiency (struct pollux_grad grad, int64_t init_batch, double total_batch);

/* Useful samples per second: throughput x efficiency, for M >= init_batch. */
double pollux_goodput (const struct pollux_model *model, struct pollux_grad grad,
                       int64_t init_batch, struct pollux_shape shape, struct pollux_batch batch);

/* ---- The best batch --------------------------------------------------------------------- */

enum pollux_search {
    POLLUX_EXACT,     /* all legal (m, s); max_batch is never exceeded */
    POLLUX_REFERENCE, /* the 50 geometrically spaced batches of the published implementation */
};

/* The best batch for a placement.  goodput 0 and batch {0, 0}: no batch is legal. */
struct pollux_best {
    struct pollux_batch batch;
    double goodput;
};

/* The batch with the highest goodput on a placement; of equal ones, the smallest total batch.
 * -EINVAL for a model, statistics, limits or shape outside of their domain. */
int pollux_best_batch (const struct pollux_model *model, struct pollux_grad grad,
                       const struct pollux_limits *limits, enum pollux_search search,
                       struct pollux_shape shape, struct pollux_best *ret,
                       struct pollux_error *err);

/* The best batches for 1..max_replicas replicas at once: one_node[K-1] for K replicas on one
 * node, many_nodes[K-1] on two or more nodes (their number does not matter to the model; for K = 1
 * the goodput is 0).  Either array may be NULL.  The results are those of pollux_best_batch, but the
 * inputs are checked only once.  Allocates nothing. */
int pollux_curve (const struct pollux_model *model, struct pollux_grad grad,
                  const struct pollux_limits *limits, enum pollux_search search, int max_replicas,
                  struct pollux_best *one_node, struct pollux_best *many_nodes,
                  struct pollux_error *err);

/* Split total samples over K replicas:
 *     local = ceil (total / K),  s + 1 = max (ceil (local / max_local), min_steps),
 *     m = ceil (local / (s + 1)).
 * So m <= max_local, with as few micro-steps s + 1 as possible, at least min_steps.  The batch
 * K m (s + 1) is total or a little more.  {0, 0} if an argument is below 1. */
struct pollux_batch pollux_split_batch (int64_t total, int replicas, int64_t max_local,
                                        int64_t min_steps);

/* ---- Fitting the throughput model ------------------------------------------------------- */

/* Mean times measured on one placement with one micro-batch.  grad_s: a micro-step without
 * synchronisation; step_s: the last micro-step, with it (an iteration if s = 0).  Legal:
 * 1 <= nodes <= replicas <= POLLUX_REPLICAS_LIMIT, 1 <= m <= POLLUX_BATCH_LIMIT, times within
 * 1e-9..1e9 seconds.  A weight w, within 1e-9..1e9, counts as w equal samples; usually 1. */
struct pollux_sample {
    struct pollux_shape shape;
    int64_t m;
    double grad_s, step_s;
    double weight;
};

/* A fitted model and its quality.  The errors are root mean squares, over the samples, of the error
 * of the logarithm of the time: 0.1 means about 10 %.  The fit minimises the loss
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
 * Parameters that the samples do not determine get a prior, which is optimistic so that a job
 * explores: if all samples have the same m, alpha_grad is half the mean grad_s; alpha and beta of a
 * kind of placement without samples are 1e-8 s, and so are both betas if all samples have one or
 * two replicas.  If no sample has several nodes, alpha_node and beta_node are raised to 1.1 times
 * the local ones after the loss was computed.
 *
 * last, which may be NULL, is the job's previous model: parameters that the samples do not determine
 * keep its values, and a fit of many samples takes a tenth of the time.  Equal inputs give equal
 * results.  Tens of samples take a fraction of a millisecond; very many take little more than
 * sorting them, because samples that differ only in their times are merged.
 *
 * -EINVAL if count is 0 or a sample is illegal (err has its number, from 1); -ENOMEM.  Legal samples
 * are never refused. */
int pollux_fit (const struct pollux_sample *samples, size_t count, const struct pollux_model *last,
                struct pollux_fit *ret, struct pollux_error *err);

/* The loss that pollux_fit minimises, for a model with positive parameters and gamma >= 1.  NaN for
 * other models, for an illegal sample, or without samples. */
double pollux_fit_loss (const struct pollux_sample *samples, size_t count,
                        const struct pollux_model *model);

/* ---- Gradient noise --------------------------------------------------------------------- */

/* An estimator of the gradient's noise, from gradients that data-parallel training computes anyway.
 * An update averages n = K (s+1) micro-gradients g_i of m samples each into gbar.  From
 *
 *     micro_sqr = mean |g_i/P|^2          mean_sqr = |gbar/P|^2
 *
 * per parameter group, with P = 1 or Adam's preconditioner, before clipping, follow unbiased
 * estimates of the squared norm of the true gradient and of the variance of its estimate at batch
 * M0.  They are averaged over about 1000 M0 samples.  In a training loop:
 *
 *     each micro-step    micro_sqr[g] += pollux_sqr_f32 (gradient of the micro-batch) / n
 *     once an update     sum micro_sqr and the gradients over the replicas
 *                        mean_sqr[g] = pollux_sqr_f32 (mean gradient)
 *                        pollux_noise_update (noise, K, batch, micro_sqr, mean_sqr, &err)
 *                        pollux_rule_factor, the optimizer's step, pollux_rate_advance
 *
 * -EDOM: the update contains an inf or a NaN and must be skipped, also by the optimizer.
 * If a framework shows only each replica's mean gradient over its s+1 micro-steps, this mean is the
 * micro-gradient: n = K, and the batch to pass is {m (s+1), 0}.
 * With loss scaling (AMP), first divide gradients by the loss scale, or divide micro_sqr, mean_sqr,
 * dot and diff_sqr by its square. */
struct pollux_noise;

/* 2^16 parameter groups: a saved state stays around 1 MB. */
#define POLLUX_GROUPS_LIMIT (1 << 16)

/* A new estimator, for groups in 1..POLLUX_GROUPS_LIMIT and M0 = init_batch samples in
 * 1..POLLUX_BATCH_LIMIT.  The caller owns *ret (pollux_noise_free).
 * -EINVAL outside of the domain, -ENOMEM. */
int pollux_noise_new (int groups, int64_t init_batch, struct pollux_noise **ret,
                      struct pollux_error *err);

/* Accepts NULL. */
void pollux_noise_free (struct pollux_noise *noise);

/* Add one update of n = replicas x (s+1) >= 2 micro-gradients; arrays have one entry per group.
 * Averages of pollux_noise_update_single are dropped first.
 * Nothing changes on failure.  -EDOM: a value is not finite, or the estimates overflow: skip the
 * update.  -EINVAL: n = 1, a batch outside 1..POLLUX_BATCH_LIMIT, replicas outside
 * 1..POLLUX_REPLICAS_LIMIT, a negative value, or mean_sqr more than 10 % above micro_sqr, which is
 * impossible for a mean (a sum of gradients was passed). */
int pollux_noise_update (struct pollux_noise *noise, int replicas, struct pollux_batch batch,
                         const double *micro_sqr, const double *mean_sqr, struct pollux_error *err);

/* Add one update of a single micro-gradient g1 of m samples (n = 1), by comparing it with the
 * gradient g0 of the previous update, which the caller has kept:
 *
 *     dot = (g0/P).(g1/P)                 diff_sqr = |(g0 - g1)/P|^2
 *
 * per group, as pollux_pair_f32 computes them.  The change of the gradient between the two updates
 * counts as noise, so these averages are biased.  Pass NULL for both arrays if there is no g0.  They
 * are ignored if g0 had another m or n (pollux_noise_paired).  After success keep g1 for the next
 * update.
 * The estimate does not change on failure.  -EDOM: a value is not finite: skip the update, and
 * continue without g0.  -EINVAL: m outside 1..POLLUX_BATCH_LIMIT, only one array, or a negative
 * diff_sqr. */
int pollux_noise_update_single (struct pollux_noise *noise, int64_t m, const double *dot,
                                const double *diff_sqr, struct pollux_error *err);

/* True if the last update was a single one with this m: its gradient can be compared with.  If
 * false, dot and diff_sqr need not be computed. */
bool pollux_noise_paired (const struct pollux_noise *noise, int64_t m);

/* The estimate at batch M0, summed over the groups: sqr >= 0, and var >= 1e-12 (sqr + var), because
 * rounding hides smaller values.  Before the first estimate: {1, 0}, no noise. */
struct pollux_grad pollux_noise_grad (const struct pollux_noise *noise);

/* The same for one group, from 0.  NaN for a group that does not exist. */
struct pollux_grad pollux_noise_group (const struct pollux_noise *noise, int group);

/* True if the estimate is from updates with n = 1, which overestimates the noise. */
bool pollux_noise_biased (const struct pollux_noise *noise);

/* The filled part of the averaging window: 0 before the first estimate, 0.63 after 1000 M0 samples,
 * then towards 1. */
double pollux_noise_weight (const struct pollux_noise *noise);

/* The state as pollux_noise_size bytes, 64 + 16 per group, equal on all machines.  -ENOSPC: size is
 * smaller.  A restored estimator continues with the same bits.  The kept gradient of n = 1 is not
 * included: save it too, or pass NULL once. */
size_t pollux_noise_size (const struct pollux_noise *noise);
int pollux_noise_save (const struct pollux_noise *noise, void *ret, size_t size,
                       struct pollux_error *err);

/* Replace the state of an estimator by one that was saved with equal groups and init_batch.  Accepts
 * any bytes.  -EINVAL, with no change: err says what is wrong with them. */
int pollux_noise_restore (struct pollux_noise *noise, const void *data, size_t size,
                          struct pollux_error *err);

/* Adam's preconditioner P = sqrt (v / (1 - beta2^step)) + eps, element by element, where v is exp_avg_sq,
 * but at least 1 % of its mean over the array: else an element that is almost always 0 would be divided
 * by eps and exceed all others.  P = 1 for step < 5.  step is the number of updates in exp_avg_sq.  All norms of one update use P
 * from before that update.  Legal: 0 <= beta2 < 1, eps >= 0, step >= 0. */
struct pollux_adam {
    double beta2, eps;
    int64_t step;
};

/* |g/P|^2 of an array.  adam and exp_avg_sq are NULL for P = 1; else exp_avg_sq is as long as g.
 * Summed in double: the relative error is below 1e-14 for any length if the result is within
 * 1e-290..1e+290, that is for all floats and for doubles of 1e-145..1e+145.  Not finite if an
 * element is not; NaN outside of adam's domain.  For a gradient of several arrays add the results. */
double pollux_sqr_f32 (const float *g, size_t length, const float *exp_avg_sq,
                       const struct pollux_adam *adam);
double pollux_sqr_f64 (const double *g, size_t length, const double *exp_avg_sq,
                       const struct pollux_adam *adam);

/* |g|^2 of a gradient that consists of several arrays. */
double pollux_sqr_many_f32 (const float *const *arrays, const size_t *lengths, size_t count);

/* The arguments of pollux_noise_update_single, from two gradients. */
struct pollux_pair {
    double dot, diff_sqr;
};

/* Both in one pass, with the rules above; the error of dot is relative to the sum of |g0 g1/P^2|. */
struct pollux_pair pollux_pair_f32 (const float *g0, const float *g1, size_t length,
                                    const float *exp_avg_sq, const struct pollux_adam *adam);
struct pollux_pair pollux_pair_f64 (const double *g0, const double *g1, size_t length,
                                    const double *exp_avg_sq, const struct pollux_adam *adam);

/* ---- Learning-rate rules ---------------------------------------------------------------- */

/* Adapt the user's learning rate, which was chosen for batch M0, to a batch M.  A rule gives a factor
 * on the rate of one optimizer step; learning-rate schedulers still see the base rate:
 *
 *     adascale          gain                          SGD
 *     adascale-groups   gain of the parameter group
 *     adamscale         sqrt (gain)                   Adam, AdamW and RMSprop.  The agent
 *                                                     knows which batches Adam's averages remember:
 *                                                     its factor is between sqrt (gain) and gain
 *     linear            M/M0
 *     sqrt              sqrt (M/M0)
 *     legw              sqrt (M/M0) min (1, progress / (warm-up epochs x M/M0 x dataset/M0))
 *
 * M may be less than M0, for example in the last update of a pass.  Then it counts as M0, here and in
 * progress: the gain is 1, as without Pollux.
 */
struct pollux_rule;

/* The state of training.  Progress counts updates with batch M0: each update adds its gain.  It does
 * not depend on the batches that were used; use it for schedules and for the end of training.  It
 * starts at 0; save it with the checkpoint.  Only legw reads the last two: warm-up epochs of the
 * user's recipe at M0 (0: none), and samples in the dataset. */
struct pollux_rate {
    int64_t init_batch, total_batch;
    double progress;
    double warmup_epochs;
    int64_t dataset_size;
};

/* Find a rule by its name.  *ret points to a constant of the library.  -ENOENT: err lists the names. */
int pollux_rule_by_name (const char *name, const struct pollux_rule **ret,
                         struct pollux_error *err);

/* All rules: index 0, 1, ... until NULL. */
const struct pollux_rule *pollux_rule_at (size_t index);
const char *pollux_rule_name (const struct pollux_rule *rule);

/* Whether its factor is for the estimate of each group (pollux_noise_group) instead of their sum, and
 * whether it is for Adam. */
bool pollux_rule_is_by_group (const struct pollux_rule *rule);
bool pollux_rule_is_adam (const struct pollux_rule *rule);

/* The factor for the estimate grad (pollux_noise_grad, or pollux_noise_group).  Legal:
 * init_batch, total_batch and, for legw, dataset_size in 1..POLLUX_BATCH_LIMIT, progress >= 0,
 * warmup_epochs >= 0, sqr >= 0, var >= 0; all of them and sqr + var finite.  Else NaN.  legw gives 0
 * at progress 0. */
double pollux_rule_factor (const struct pollux_rule *rule, const struct pollux_rate *rate,
                           struct pollux_grad grad);

/* After an optimizer step with batch total_batch, for any rule: add the gain to the progress.  grad
 * is the estimate summed over groups (pollux_noise_grad).  Returns the gain; outside of the domain
 * NaN, with no change.  Do not call it for a skipped update. */
double pollux_rate_advance (struct pollux_rate *rate, struct pollux_grad grad);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The agent inside a training program, and checkpoints to stop and resume it. */
#include <pollux/agent.h>
#include <pollux/checkpoint.h>
#endif
