/* SPDX-License-Identifier: Apache-2.0 */
/* Generated data: nothing to download, and noise that is real. */
#ifndef DATA_H
#define DATA_H

#include "network.h"

struct data {
    int64_t count; /* samples to train with; */
    int64_t held;  /* so many more behind them are for evaluation alone */
    int inputs;
    float *x;
    int *labels;
};

/* The same seed gives the same samples in every replica.  Free with data_free. */
struct data data_make (const struct network *network, int64_t count, uint64_t seed);
void data_free (struct data *data);

/* Copy the samples with these indices, one behind the other. */
void data_gather (const struct data *data, const int64_t *indices, int64_t m, float *ret_x,
                  int *ret_labels);

/* Uniform 64 bits, and a normal number; each moves the state on. */
uint64_t random_bits (uint64_t *state);
double random_normal (uint64_t *state);

#endif
