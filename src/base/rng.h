/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* A source of chance: an open value, copied to remember a point and to return to it.  Equal
 * states give equal draws; integers and uniforms on every machine, Gaussians with one libm.
 * Only rng_seed and rng_stream make states; all zero is the one illegal state. */
struct rng {
    uint64_t state[4];
};

/* Any seed is good, also 0 and neighbouring ones. */
struct rng rng_seed (uint64_t seed);

/* The stream-th of 2^64 sources that share a seed and look independent: one per job, thread or
 * round, so that the draws of one do not shift when another draws more.  Not rng_seed (seed). */
struct rng rng_stream (uint64_t seed, uint64_t stream);

/* 64 random bits. */
uint64_t rng_next (struct rng *rng);

/* Uniform in [0, 1), a multiple of 2^-53. */
double rng_uniform (struct rng *rng);

/* Uniform in 0 .. bound-1, without bias, for bound >= 1; 0 for bound 0. */
uint64_t rng_below (struct rng *rng, uint64_t bound);

/* Normal with mean 0 and variance 1. */
double rng_gaussian (struct rng *rng);

#endif
