/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers with an explicit state: xoshiro256++ (Blackman and Vigna, 2019), seeded by
 * splitmix64, which spreads neighbouring seeds over the state space and never yields four zeros.
 * A draw takes about a nanosecond; the period is 2^256 - 1.
 */
#include "base/rng.h"

#include <math.h>

static uint64_t splitmix_next (uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct rng rng_seed (uint64_t seed)
{
    struct rng rng;
    for (int i = 0; i < 4; i++)
        rng.state[i] = splitmix_next (&seed);
    return rng;
}

struct rng rng_stream (uint64_t seed, uint64_t stream)
{
    /* Mixing separates neighbouring seeds, so that their streams do not overlap. */
    return rng_seed (splitmix_next (&seed) ^ stream);
}

static uint64_t rotate_left (uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t rng_next (struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left (s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left (s[3], 45);
    return result;
}

double rng_uniform (struct rng *rng)
{
    return (double)(rng_next (rng) >> 11) * 0x1p-53;
}

uint64_t rng_below (struct rng *rng, uint64_t bound)
{
    /* The high half of a 128-bit product is nearly uniform; the draws whose low half falls into
     * the first 2^64 mod bound values would favour some results, so they are drawn again
     * (Lemire, 2019).  The remainder is computed only if needed. */
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)rng_next (rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t reject = (UINT64_MAX - bound + 1) % bound; /* 2^64 mod bound */
        while ((uint64_t)product < reject)
            product = (wide)rng_next (rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

double rng_gaussian (struct rng *rng)
{
    /* Marsaglia's polar method.  Its second variate is not used: it would be additional state. */
    double x, square;
    do {
        x = 2 * rng_uniform (rng) - 1;
        double y = 2 * rng_uniform (rng) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt (-2 * log (square) / square);
}
