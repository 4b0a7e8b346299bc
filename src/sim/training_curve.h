/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training curve of an application: the progress that each epoch needs, and the gradient
 * statistics during it, at a few total batches and interpolated between them.
 *
 *               batches[0]            batches[1] ...
 *     row 0   {iterations, grad}    {iterations, grad}     need[1]
 *     row 1   {iterations, grad}    {iterations, grad}     need[2]
 *     ...
 */
#ifndef SIM_TRAINING_CURVE_H
#define SIM_TRAINING_CURVE_H

#include "pollux/pollux.h"

/* 1e5 epochs and 64 batches: 150 MB, a thousand times the published traces. */
#define TRAINING_CURVE_EPOCHS_LIMIT 100000
#define TRAINING_CURVE_BATCHES_LIMIT 64

struct training_curve {
    int epochs, batch_count;
    double *batches; /* ascending */
    double *need;    /* epochs + 1: need[e] is the progress at which e epochs are complete */
    struct training_curve_cell {
        double iterations; /* at this batch, until the row's epoch is complete */
        struct pollux_grad grad;
    } * cells; /* epochs x batch_count */
};

/* Allocate tables of zeros.  0 or -ENOMEM.  training_curve_clear frees them. */
int training_curve_alloc (struct training_curve *curve, int epochs, int batch_count,
                          struct pollux_error *err);
void training_curve_clear (struct training_curve *curve);

struct training_curve_cell *training_curve_cell (const struct training_curve *curve, int row,
                                                 int batch);

/* A row at total batch M: linear between the neighbouring batches, constant beyond them. */
struct training_curve_cell training_curve_at (const struct training_curve *curve, int row,
                                              double total_batch);

#endif
