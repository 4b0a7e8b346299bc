/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* The state of a random number generator.  A copy repeats the same draws.  Equal states give equal
 * integers and uniforms on every machine, and equal Gaussians with the same libm.  Make states with
 * rng_seed or rng_stream; all zero is illegal. */
struct rng {
    uint64_t state[4];
};

/* All seeds are equally good, also 0 and neighbouring ones. */
struct rng rng_seed (uint64_t seed);

/* One of 2^64 independent generators of a seed: one per job, thread or round, so that the draws of
 * one do not depend on how many another makes.  Differs from rng_seed (seed). */
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
