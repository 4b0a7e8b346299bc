/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ground truth: how applications really train.  Simulated jobs measure it; policies do not see it,
 * except those that are published with an oracle.
 *
 * It is loaded once and constant afterwards, so threads share it without locks.  Applications come
 * from measured traces or from profiles (docs/formats.md), with the same interface.
 *
 * Epochs: e is the number of completed epochs, 0 <= e <= max_epochs.  Functions about the epoch
 * in progress take the same e, with e < max_epochs.
 */
#ifndef SIM_GROUND_TRUTH_H
#define SIM_GROUND_TRUTH_H

#include "pollux/pollux.h"

struct ground_truth;
struct app;

/* Load every application of a folder: a subfolder each, with placements.csv, scalability.csv and
 * validation-B.csv; or with placements-TYPE.csv and scalability-TYPE.csv for types of nodes.  On success *ret belongs to the caller (ground_truth_free).  On failure err
 * names the file, the line and what was expected. */
int ground_truth_from_traces (const char *dir, struct ground_truth **ret, struct pollux_error *err);

/* Load profiles from a JSON file ("-": standard input), or the built-in ones of the six published
 * applications if path is NULL. */
int ground_truth_from_profiles (const char *path, struct ground_truth **ret,
                                struct pollux_error *err);

void ground_truth_free (struct ground_truth *truth);

/* Applications by index < ground_truth_count, in alphabetical order, or by name (NULL: none). */
int ground_truth_count (const struct ground_truth *truth);
const struct app *ground_truth_at (const struct ground_truth *truth, int index);
const struct app *ground_truth_app (const struct ground_truth *truth, const char *name);

/* Triangulate on all processors now what app_step would triangulate at first need.  Optional: step
 * times are the same.  wanted selects applications by index; NULL: all.  0 or -ENOMEM. */
int ground_truth_prepare (const struct ground_truth *truth, const bool *wanted,
                          struct pollux_error *err);

/* ---- Types of nodes ---- */

/* Types that one application may have. */
enum { APP_TYPES = 8 };

/* The application on nodes of a type: its step times, limits and speed there.  One without types is the same on all
 * nodes; NULL: it cannot run on nodes of this type. */
const struct app *app_on (const struct app *app, const char *type);

/* The types that it has step times on, by index; NULL: no more. */
const char *app_type (const struct app *app, int index);

/* A small number that tells its parts by type apart: 0 to APP_TYPES. */
int app_index (const struct app *app);

/* Samples per second of one replica with its largest batch; 0: not known. */
double app_speed (const struct app *app);

/* For clusters with types: its own restart delay (NaN: none), and how many times as long training takes as its step
 * times say. */
double app_restart_delay (const struct app *app);
double app_slowdown (const struct app *app);

/* The largest local batch of a placement, and of all measured placements with that many replicas (0: none was
 * measured). */
int64_t app_max_local (const struct app *app, const int *counts, int nodes);
int64_t app_most_local (const struct app *app, int replicas);

/* What these return lives as long as the ground truth. */
const char *app_name (const struct app *app);
int app_max_epochs (const struct app *app);

/* M0, Mmax, smallest and largest local batch; accumulation is always allowed. */
const struct pollux_limits *app_limits (const struct app *app);

/* An application that does not scale always runs on these replicas with this batch ({0, 0}: not
 * pinned).  The published ncf has 1 replica and batch 32768. */
struct app_pin {
    int replicas;
    int64_t batch;
};
struct app_pin app_pin (const struct app *app);

/* Progress, in iterations of batch M0, at which e epochs are complete; 0 for e = 0. */
double app_need (const struct app *app, int e);

/* Samples of the data: an epoch is as much progress as a pass with batch M0. */
int64_t app_dataset_size (const struct app *app);

/* Gradient statistics during the epoch after e completed ones, with total batch M: linear in M
 * between the measured batches, constant beyond them. */
struct pollux_grad app_grad (const struct app *app, int e, double total_batch);

/* Iterations at total batch M, from the start, until epoch e + 1 is complete. */
double app_iterations (const struct app *app, int e, double total_batch);

/* One micro-step with m samples on each replica: step_s seconds, of which sync_s are
 * synchronisation, so that a micro-step without it takes step_s - sync_s.  modelled: the placement
 * or batch lies outside the measurements, and the throughput model fitted to them gave the times. */
struct app_step {
    double step_s, sync_s;
    bool modelled;
};

/* Step times of counts[i] >= 1 replicas on node i of nodes >= 1, in the order of the job's ranks,
 * for m >= 1.  Takes less than a microsecond, except the first call that needs a triangulation
 * or a fit; NaN if memory runs out then. */
struct app_step app_step (const struct app *app, const int *counts, int nodes, int64_t m);

/* Seconds of one iteration: step + s (step - sync). */
double app_iter_time (struct app_step step, int64_t s);

#endif
