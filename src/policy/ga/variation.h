/* SPDX-License-Identifier: Apache-2.0 */
/* How the genetic search makes new states from old ones, as published. */
#ifndef POLICY_GA_VARIATION_H
#define POLICY_GA_VARIATION_H

#include "base/rng.h"
#include "policy/ga/space.h"

/* Random numbers and scratch memory of one search; the space is borrowed. */
struct ga_variation {
    const struct ga_space *space;
    struct rng rng;
    uint64_t bits; /* random bits that are not used yet */
    int bit_count;
    uint16_t *free, *shared, *in_use; /* by column */
    int *open, *own;                  /* by column */
    double *none; /* by count: the probability that none of that many columns is hit */
};

int ga_variation_new (const struct ga_space *space, uint64_t seed, struct ga_variation *ret,
                      struct pollux_error *err);
void ga_variation_clear (struct ga_variation *variation);

/* A random integer in 0..bound-1, bound >= 1.  Each has the probability 1/bound, with an error below 2^-32. */
int ga_draw (struct ga_variation *variation, int bound);

/* One-point crossover: rows before a random one from a, the others from b. */
void ga_cross (struct ga_variation *variation, const uint16_t *a, const uint16_t *b, uint16_t *ret);

/* Change a state at random; it may be illegal afterwards. */
void ga_mutate (struct ga_variation *variation, uint16_t *state);

/* Make a state legal by removing replicas, and score it. */
struct ga_score ga_repair_and_score (struct ga_variation *variation, uint16_t *state);

#endif
