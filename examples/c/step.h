/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an update in both trainers: gradients of micro-batches, sums over replicas, traces. */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include <stdio.h>

#include "data.h"

/* Simulated speed: if many replicas share few cores, each sleeps until its own device would have
 * finished its work, so that more replicas are faster.  All 0: full speed. */
struct pace {
    double sample_s, step_s, sync_s;
    double *declared_s; /* add the time here instead of sleeping; NULL: sleep */
};

/* Mean loss of m samples and, in ret_gradient, its gradient. */
double micro_step (const struct network *network, const struct data *data, const float *weights,
                   const int64_t *indices, int64_t m, const struct pace *pace, float *ret_gradient);

/* Sum arrays over all replicas, in place. */
void sum_replicas (float *gradient, size_t length, double *numbers, int count,
                   const struct pace *pace);

/* Mean loss of the evaluation samples. */
double held_out_loss (const struct network *network, const struct data *data, const float *weights);

/* Monotonic seconds. */
double now_s (void);

/* Traces for tests.  DIR/samples.RANK has a line per micro-step: the number of the update and the
 * samples.  DIR/updates.csv, written by replica 0, has a line per update. */
struct trace {
    FILE *samples, *updates;
};

struct trace_update {
    int64_t update, m, s;
    int replicas, generation;
    double loss, factor, gain, progress, noise_scale, step_s;
};

/* directory may be NULL: nothing is recorded. */
struct trace trace_open (const char *directory, int rank);
void trace_samples (struct trace *trace, int64_t update, const int64_t *indices, int64_t m);
void trace_update (struct trace *trace, const struct trace_update *update);
void trace_close (struct trace *trace);

#endif
