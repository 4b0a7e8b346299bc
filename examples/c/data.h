/* SPDX-License-Identifier: Apache-2.0 */
/* Generated data: no download, and real gradient noise. */
#ifndef DATA_H
#define DATA_H

#include "network.h"

struct data {
    int64_t count; /* training samples */
    int64_t held;  /* further samples after them, for evaluation only */
    int inputs;
    float *x;
    int *labels;
};

/* The same seed gives the same samples in every replica.  Free with data_free. */
struct data data_make (const struct network *network, int64_t count, uint64_t seed);
void data_free (struct data *data);

/* Copy the samples with these indices into consecutive rows. */
void data_gather (const struct data *data, const int64_t *indices, int64_t m, float *ret_x,
                  int *ret_labels);

/* 64 random bits; a normal random number.  Both change the state. */
uint64_t random_bits (uint64_t *state);
double random_normal (uint64_t *state);

#endif
