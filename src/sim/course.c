/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table with a row per epoch and a column per batch, and linear interpolation in the batch
 * (not in its logarithm: as published).
 */
#include "sim/course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int course_alloc (struct course *course, int epochs, int batch_count, struct pollux_error *err)
{
    memset (course, 0, sizeof *course);
    course->epochs = epochs;
    course->batch_count = batch_count;
    course->batches = calloc ((size_t)batch_count, sizeof *course->batches);
    course->need = calloc ((size_t)epochs + 1, sizeof *course->need);
    course->cells = calloc ((size_t)epochs * (size_t)batch_count, sizeof *course->cells);
    if (course->batches && course->need && course->cells)
        return 0;
    course_clear (course);
    return fail (err, -ENOMEM, "no memory for %d epochs at %d batches", epochs, batch_count);
}

void course_clear (struct course *course)
{
    free (course->batches);
    free (course->need);
    free (course->cells);
    memset (course, 0, sizeof *course);
}

struct course_cell *course_cell (const struct course *course, int row, int batch)
{
    return &course->cells[(size_t)row * (size_t)course->batch_count + (size_t)batch];
}

static double mix (double a, double b, double share)
{
    return a + share * (b - a);
}

struct course_cell course_at (const struct course *course, int row, double total_batch)
{
    const double *batches = course->batches;
    int last = course->batch_count - 1, upper = 1;
    if (last == 0 || !(total_batch > batches[0]))
        return *course_cell (course, row, 0);
    if (total_batch >= batches[last])
        return *course_cell (course, row, last);
    while (batches[upper] < total_batch)
        upper++;
    const struct course_cell *a = course_cell (course, row, upper - 1), *b = a + 1;
    double share = (total_batch - batches[upper - 1]) / (batches[upper] - batches[upper - 1]);
    return (struct course_cell){
        .iterations = mix (a->iterations, b->iterations, share),
        .grad.sqr = mix (a->grad.sqr, b->grad.sqr, share),
        .grad.var = mix (a->grad.var, b->grad.var, share),
    };
}
