/* SPDX-License-Identifier: Apache-2.0 */
/* How large a job of an application is: which replicas and batch its owner would ask for. */
#ifndef SIM_JOB_SIZES_H
#define SIM_JOB_SIZES_H

#include "sim/ground_truth.h"

struct job_size {
    int replicas;
    int64_t batch;
    double seconds; /* of training, alone and without delays */
};

enum { SIZES_LIMIT = 64 };

/* Seconds of training on K replicas, packed on nodes of so many slots, with a requested batch. */
double training_seconds (const struct app *app, int replicas, int slots_per_node, int64_t batch);

/* The sensible sizes of an application, at least one, by ascending replicas <= most: those that
 * train at 50 to 80 % of the speed of so many single replicas, as in the published workloads,
 * each with the batch (M0 times a power of two, or Mmax) that is fastest.  Where none is in that
 * band: the largest above it, or else one replica.  Returns how many. */
int app_sizes (const struct app *app, int most, int slots_per_node,
               struct job_size ret[SIZES_LIMIT]);

#endif
