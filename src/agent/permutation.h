/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_PERMUTATION_H
#define AGENT_PERMUTATION_H

#include <stdint.h>

enum { PERMUTATION_ROUNDS = 12 };

/* A permutation of 0..length-1 without a table; length in 1..2^62. */
struct permutation {
    uint64_t length;
    int low_bits, high_bits; /* their sum is b: 2^b is the smallest power of two >= length */
    uint64_t keys[PERMUTATION_ROUNDS];
};

struct permutation permutation_make (uint64_t seed, uint64_t pass, uint64_t length);

/* The image of position (below length). */
uint64_t permutation_at (const struct permutation *permutation, uint64_t position);

#endif
