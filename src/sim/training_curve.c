/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table with a row per epoch and a column per batch, and linear interpolation in the batch
 * (not in its logarithm: as published).
 */
#include "sim/training_curve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int training_curve_alloc (struct training_curve *curve, int epochs, int batch_count,
                          struct pollux_error *err)
{
    memset (curve, 0, sizeof *curve);
    curve->epochs = epochs;
    curve->batch_count = batch_count;
    curve->batches = calloc ((size_t)batch_count, sizeof *curve->batches);
    curve->need = calloc ((size_t)epochs + 1, sizeof *curve->need);
    curve->cells = calloc ((size_t)epochs * (size_t)batch_count, sizeof *curve->cells);
    if (curve->batches && curve->need && curve->cells)
        return 0;
    training_curve_clear (curve);
    return fail (err, -ENOMEM, "no memory for %d epochs at %d batches", epochs, batch_count);
}

void training_curve_clear (struct training_curve *curve)
{
    free (curve->batches);
    free (curve->need);
    free (curve->cells);
    memset (curve, 0, sizeof *curve);
}

struct training_curve_cell *training_curve_cell (const struct training_curve *curve, int row,
                                                 int batch)
{
    return &curve->cells[(size_t)row * (size_t)curve->batch_count + (size_t)batch];
}

static double mix (double a, double b, double share)
{
    return a + share * (b - a);
}

struct training_curve_cell training_curve_at (const struct training_curve *curve, int row,
                                              double total_batch)
{
    const double *batches = curve->batches;
    int last = curve->batch_count - 1, upper = 1;
    if (last == 0 || !(total_batch > batches[0]))
        return *training_curve_cell (curve, row, 0);
    if (total_batch >= batches[last])
        return *training_curve_cell (curve, row, last);
    while (batches[upper] < total_batch)
        upper++;
    const struct training_curve_cell *a = training_curve_cell (curve, row, upper - 1), *b = a + 1;
    double share = (total_batch - batches[upper - 1]) / (batches[upper] - batches[upper - 1]);
    return (struct training_curve_cell){
        .iterations = mix (a->iterations, b->iterations, share),
        .grad.sqr = mix (a->grad.sqr, b->grad.sqr, share),
        .grad.var = mix (a->grad.var, b->grad.var, share),
    };
}
