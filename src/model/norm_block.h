/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What norms do with a block of numbers (norm.c), for the processor at hand: the same loops for any
 * processor, and for one that computes with four doubles together.  Both give the same bits, since
 * every element is computed alike and sums have eight lanes in one order.
 */
#ifndef POLLUX_NORM_BLOCK_H
#define POLLUX_NORM_BLOCK_H

#include <stddef.h>

enum { BLOCK = 512 };

struct norm_block {
    /* count elements from start on become doubles, then zeros follow. */
    void (*load_f32) (const void *data, size_t start, size_t count, double ret[BLOCK]);
    void (*load_f64) (const void *data, size_t start, size_t count, double ret[BLOCK]);
    /* x = 1 / (sqrt (x unbias) + eps) */
    void (*invert) (double x[BLOCK], double unbias, double eps);
    void (*multiply) (double x[restrict BLOCK], const double by[restrict BLOCK]);
    void (*subtract) (double x[restrict BLOCK], const double y[restrict BLOCK]);
    double (*dot) (const double x[BLOCK], const double y[BLOCK]);
};

/* The fastest for this processor. */
const struct norm_block *norm_block_here (void);

/* That for any processor. */
const struct norm_block *norm_block_plain (void);

#endif
