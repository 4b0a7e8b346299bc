/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of norms on a block of numbers (norm.c): compiled for every processor and for processors
 * with vectors of four doubles.  Both give the same bits: elements are computed in the same way, and
 * sums have eight lanes in the same order.
 */
#ifndef POLLUX_NORM_BLOCK_H
#define POLLUX_NORM_BLOCK_H

#include <stddef.h>

#include "pollux/pollux.h"

enum { BLOCK = 512 };

/* Arrays of one type of number. */
struct norm_kind {
    /* Convert count elements from start to doubles, followed by zeros. */
    void (*load) (const void *data, size_t start, size_t count, double ret[BLOCK]);
    /* Of a whole block from start. */
    double (*sqr) (const void *g, size_t start);
    struct pollux_pair (*pair) (const void *g0, const void *g1, size_t start);
};

struct norm_block {
    struct norm_kind f32, f64;
    /* x = 1 / (sqrt (x unbias) + eps) */
    void (*invert) (double x[BLOCK], double unbias, double eps);
    void (*multiply) (double x[restrict BLOCK], const double by[restrict BLOCK]);
};

/* The fastest for this processor. */
const struct norm_block *norm_block_here (void);

/* The one for every processor. */
const struct norm_block *norm_block_plain (void);

#endif
