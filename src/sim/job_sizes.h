/* SPDX-License-Identifier: Apache-2.0 */
/* Sensible sizes of an application's jobs: the replicas and batch that a user would request. */
#ifndef SIM_JOB_SIZES_H
#define SIM_JOB_SIZES_H

#include "sim/ground_truth.h"

struct job_size {
    int replicas;
    int64_t batch;
    double seconds; /* of training, alone and without delays */
};

enum { SIZES_LIMIT = 64 };

/* Seconds of training on K replicas packed on full nodes, with a requested batch. */
double training_seconds (const struct app *app, int replicas, int slots_per_node, int64_t batch);

/* The sensible sizes of an application, at least one, by ascending replicas <= most: those that
 * scale with an efficiency of 50 to 80 %, as in the published workloads, each with the fastest
 * batch (M0 times a power of two, or Mmax).  If none is in that range: the largest above it, or
 * one replica.  Returns their number. */
int app_sizes (const struct app *app, int most, int slots_per_node,
               struct job_size ret[SIZES_LIMIT]);

#endif
