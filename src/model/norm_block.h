/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What norms do with a block of numbers (norm.c), for the processor at hand: the same loops for any
 * processor, and for one that computes with four doubles together.  Both give the same bits, since
 * every element is computed alike and sums have eight lanes in one order.
 */
#ifndef POLLUX_NORM_BLOCK_H
#define POLLUX_NORM_BLOCK_H

#include <stddef.h>

#include "pollux/pollux.h"

enum { BLOCK = 512 };

/* Arrays of one type of number. */
struct norm_kind {
    /* count elements from start on become doubles, then zeros follow. */
    void (*load) (const void *data, size_t start, size_t count, double ret[BLOCK]);
    /* Of a whole block from start on. */
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

/* That for any processor. */
const struct norm_block *norm_block_plain (void);

#endif
