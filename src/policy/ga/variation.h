/* SPDX-License-Identifier: Apache-2.0 */
/* How the genetic search makes new states of old ones, as published. */
#ifndef POLICY_GA_VARIATION_H
#define POLICY_GA_VARIATION_H

#include "base/rng.h"
#include "policy/ga/space.h"

/* Chance and scratch memory for one search; the space must live as long. */
struct ga_vary {
    const struct ga_space *space;
    struct rng rng;
    uint64_t bits; /* drawn, and not used yet */
    int bit_count;
    uint16_t *free, *shared, *in_use; /* by column */
    int *open, *own;                  /* by column */
    double *none; /* by count: the probability that none of so many columns is hit */
};

int ga_vary_new (const struct ga_space *space, uint64_t seed, struct ga_vary *ret,
                 struct pollux_error *err);
void ga_vary_clear (struct ga_vary *vary);

/* An integer in 0..bound-1, bound >= 1; uniform but for bound / 2^32. */
int ga_draw (struct ga_vary *vary, int bound);

/* One point over the rows: those before it from a, the others from b. */
void ga_cross (struct ga_vary *vary, const uint16_t *a, const uint16_t *b, uint16_t *ret);

/* Change a state at random; it may be illegal afterwards. */
void ga_mutate (struct ga_vary *vary, uint16_t *state);

/* Make a state legal by taking replicas away, and score it. */
struct ga_score ga_settle (struct ga_vary *vary, uint16_t *state);

#endif
