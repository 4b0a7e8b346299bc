/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world: ground truth of how applications train.  It is what a simulated job measures and
 * what no policy sees, except for those that are published with an oracle.
 *
 * A world is loaded once and never changes afterwards, so threads share it without locks.  Its
 * applications come from measured traces or from profiles (docs/formats.md); whoever asks them
 * cannot tell which.
 *
 * Epochs: e counts the epochs that a job has completed, 0 <= e <= max_epochs; what holds during
 * the epoch after them is asked for with the same e, then e < max_epochs.
 */
#ifndef SIM_GROUND_TRUTH_H
#define SIM_GROUND_TRUTH_H

#include "pollux/pollux.h"

struct ground_truth;
struct app;

/* Load every application of a folder: a subfolder each, with placements.csv, scalability.csv
 * and validation-B.csv.  On success *ret belongs to the caller (world_free).  On failure err
 * names the file, the line and what was expected. */
int ground_truth_from_traces (const char *dir, struct ground_truth **ret, struct pollux_error *err);

/* Load profiles from a JSON file, "-" for the standard input, or those of the six published
 * applications that are built in, where path is NULL. */
int ground_truth_from_profiles (const char *path, struct ground_truth **ret,
                                struct pollux_error *err);

void ground_truth_free (struct ground_truth *truth);

/* The applications in alphabetical order, index < world_count; by name, NULL if there is none. */
int ground_truth_count (const struct ground_truth *truth);
const struct app *ground_truth_at (const struct ground_truth *truth, int index);
const struct app *ground_truth_app (const struct ground_truth *truth, const char *name);

/* Triangulate now, on all processors, what would be triangulated at first need: for those who
 * are about to ask.  wanted says which applications, by index; NULL: all.  Nobody has to; the
 * answers are the same.  -ENOMEM. */
int ground_truth_prepare (const struct ground_truth *truth, const bool *wanted,
                          struct pollux_error *err);

/* All that follows lives as long as the world. */
const char *app_name (const struct app *app);
int app_max_epochs (const struct app *app);

/* M0, Mmax, smallest and largest local batch; accumulation is always allowed. */
const struct pollux_limits *app_limits (const struct app *app);

/* An application that does not scale runs on so many replicas with this batch, whatever a policy
 * would like ({0, 0}: free to choose).  ncf is published so: 1 replica, batch 32768. */
struct app_pin {
    int replicas;
    int64_t batch;
};
struct app_pin app_pin (const struct app *app);

/* Progress, in iterations of batch M0, at which e epochs are complete; 0 for e = 0. */
double app_need (const struct app *app, int e);

/* Gradient statistics during the epoch after e completed ones, with total batch M: linear in M
 * between the measured batches, constant beyond them. */
struct pollux_grad app_grad (const struct app *app, int e, double total_batch);

/* Iterations at total batch M until the epoch after e completed ones is complete, too. */
double app_iterations (const struct app *app, int e, double total_batch);

/* Seconds of one micro-step with m samples on each replica, with synchronisation, and how much
 * of it synchronisation is: a micro-step without takes step_s - sync_s.  modelled: not measured
 * but taken from the throughput model fitted to the application's measurements, because the
 * placement or batch lies outside of them; a run says so once. */
struct app_step {
    double step_s, sync_s;
    bool modelled;
};

/* Step times on counts[i] >= 1 replicas on the i-th of nodes >= 1 nodes, in the order of the
 * job's ranks, for m >= 1.  Takes less than a microsecond, but for the first question that needs
 * a triangulation or a fit.  NaN where memory runs out then. */
struct app_step app_step (const struct app *app, const int *counts, int nodes, int64_t m);

/* Seconds of one iteration: step + s (step - sync). */
double app_iter_time (struct app_step step, int64_t s);

#endif
