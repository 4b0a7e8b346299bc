/* SPDX-License-Identifier: Apache-2.0 */
/* The states that a genetic search works on, and how a generation follows another. */
#ifndef POLICY_GA_POPULATION_H
#define POLICY_GA_POPULATION_H

#include "policy/ga/variation.h"
#include "policy/ga/nsga2.h"

enum {
    GA_POPULATION = 100,
    GA_KNOWN_SIZE = 512, /* > 2 GA_POPULATION, so that the hash has empty places */
};
_Static_assert(2 * GA_POPULATION <= NSGA2_LIMIT, "parents and children compete");

/* Members first, then room for their children.  Points, states and hashes belong together by
 * index; no two members are the same state. */
struct ga_population {
    struct nsga2_point points[2 * GA_POPULATION]; /* first: fitness, second: utility */
    uint16_t *states[2 * GA_POPULATION];          /* into block */
    uint64_t hashes[2 * GA_POPULATION];
    int count;
    uint64_t known[GA_KNOWN_SIZE]; /* open hash of the members' hashes; 0: empty */
    uint16_t *block;
};

/* Nobody yet. */
int ga_population_new (const struct ga_space *space, struct ga_population *ret,
                       struct pollux_error *err);
void ga_population_clear (struct ga_population *population);

/* The state to be filled in before the next ga_population_admit. */
uint16_t *ga_population_next (const struct ga_population *population);

/* Repair and score the next state, and make it a member unless it is one already.  At most
 * 2 GA_POPULATION in all. */
void ga_population_admit (struct ga_population *population, struct ga_vary *vary);

/* Let the best survive, at most GA_POPULATION of them. */
void ga_population_cull (struct ga_population *population);

/* Children of the members compete with them. */
void ga_population_breed (struct ga_population *population, struct ga_vary *vary);

/* The member with the best fitness. */
const uint16_t *ga_population_best (const struct ga_population *population);

#endif
