/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random permutation as a function.  A Feistel network permutes the numbers of b bits: each round
 * XORs a keyed hash of one part of the bits into the other part, which is invertible for any hash.
 * If 2^b > length, a result >= length is permuted again until it is below; because 2^b < 2 length,
 * this takes at most two tries on average, and the result is still a permutation (Black and Rogaway,
 * "Ciphers with arbitrary finite domains", 2002).
 *
 * Checkpoints depend on it: the result must never change.  The hash is splitmix64's finalizer.
 */
#include "agent/permutation.h"

static uint64_t mix (uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct permutation permutation_make (uint64_t seed, uint64_t pass, uint64_t length)
{
    struct permutation permutation = {.length = length};
    int bits = 0;
    while (bits < 62 && ((uint64_t)1 << bits) < length)
        bits++;
    permutation.low_bits = (bits + 1) / 2;
    permutation.high_bits = bits / 2;
    uint64_t state = mix (seed + 0x9e3779b97f4a7c15u) ^ mix (mix (pass + 0xd1b54a32d192ed03u));
    for (int i = 0; i < PERMUTATION_ROUNDS; i++)
        permutation.keys[i] = mix (state += 0x9e3779b97f4a7c15u);
    return permutation;
}

static uint64_t network (const struct permutation *permutation, uint64_t x)
{
    uint64_t low_mask = ((uint64_t)1 << permutation->low_bits) - 1;
    uint64_t high_mask = ((uint64_t)1 << permutation->high_bits) - 1;
    uint64_t low = x & low_mask, high = x >> permutation->low_bits;
    for (int i = 0; i < PERMUTATION_ROUNDS; i += 2) {
        low ^= mix (high ^ permutation->keys[i]) & low_mask;
        high ^= mix (low ^ permutation->keys[i + 1]) & high_mask;
    }
    return high << permutation->low_bits | low;
}

uint64_t permutation_at (const struct permutation *permutation, uint64_t position)
{
    uint64_t x = position;
    do
        x = network (permutation, x);
    while (x >= permutation->length);
    return x;
}
