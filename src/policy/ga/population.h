/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a genetic search, and how one generation follows another. */
#ifndef POLICY_GA_POPULATION_H
#define POLICY_GA_POPULATION_H

#include "policy/ga/variation.h"
#include "policy/ga/nsga2.h"

enum {
    GA_POPULATION = 100,
    GA_KNOWN_SIZE = 512, /* > 2 GA_POPULATION, so that the hash table has empty entries */
};
_Static_assert(2 * GA_POPULATION <= NSGA2_LIMIT, "parents and children compete");

/* Members first, then room for their children.  Points, states and hashes have the same index; no
 * two members are the same state. */
struct ga_population {
    struct nsga2_point points[2 * GA_POPULATION]; /* first: fitness, second: utility */
    uint16_t *states[2 * GA_POPULATION];          /* into block */
    uint64_t hashes[2 * GA_POPULATION];
    int count;
    uint64_t known[GA_KNOWN_SIZE]; /* open hash table of the members' hashes; 0: empty */
    uint16_t *block;
};

/* An empty population.  -ENOMEM. */
int ga_population_new (const struct ga_space *space, struct ga_population *ret,
                       struct pollux_error *err);
void ga_population_clear (struct ga_population *population);

/* The state that the caller fills in before ga_population_add. */
uint16_t *ga_population_next (const struct ga_population *population);

/* Repair and score the next state, and make it a member unless it is one already.  There is room
 * for 2 GA_POPULATION members. */
void ga_population_add (struct ga_population *population, struct ga_variation *variation);

/* Keep the best members, at most GA_POPULATION. */
void ga_population_select (struct ga_population *population);

/* One generation: make children of the members, then select. */
void ga_population_breed (struct ga_population *population, struct ga_variation *variation);

/* The state of the member with the best fitness. */
const uint16_t *ga_population_best (const struct ga_population *population);

#endif
