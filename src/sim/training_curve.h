/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of an application's training: what is needed for each epoch, and what gradients
 * are like on the way, for a few total batches and interpolated between them.
 *
 *               batches[0]            batches[1] ...
 *     row 0   {iterations, grad}    {iterations, grad}     need[1]
 *     row 1   {iterations, grad}    {iterations, grad}     need[2]
 *     ...
 */
#ifndef SIM_TRAINING_CURVE_H
#define SIM_TRAINING_CURVE_H

#include "pollux/pollux.h"

/* 1e5 epochs and 64 batches: 150 MB, and a thousand times what is published. */
#define TRAINING_CURVE_EPOCHS_LIMIT 100000
#define TRAINING_CURVE_BATCHES_LIMIT 64

struct training_curve {
    int epochs, batch_count;
    double *batches; /* ascending */
    double *need;    /* epochs + 1: progress at which so many epochs are complete */
    struct training_curve_cell {
        double iterations; /* at this batch, until the row's epoch is complete */
        struct pollux_grad grad;
    } * cells; /* epochs x batch_count */
};

/* Room for so many epochs and batches, all zero.  0 or -ENOMEM; course_clear frees. */
int training_curve_alloc (struct training_curve *curve, int epochs, int batch_count,
                          struct pollux_error *err);
void training_curve_clear (struct training_curve *curve);

struct training_curve_cell *training_curve_cell (const struct training_curve *curve, int row,
                                                 int batch);

/* A row at total batch M: linear between the neighbouring batches, constant beyond them. */
struct training_curve_cell training_curve_at (const struct training_curve *curve, int row,
                                              double total_batch);

#endif
