/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A population of states: hashes find equal members, NSGA-II selects, crossover and mutation make
 * children.
 */
#include "policy/ga/population.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Most attempts to make children in one generation: small problems have few new states. */
enum { ATTEMPTS = 4 * GA_POPULATION };

int ga_population_new (const struct ga_space *space, struct ga_population *ret,
                       struct pollux_error *err)
{
    size_t size = ga_state_size (space);
    *ret = (struct ga_population){
        .block = malloc ((2 * GA_POPULATION * size + 1) * sizeof (ret->block[0]))};
    if (!ret->block)
        return fail (err, -ENOMEM, "no memory for a population of states of %d jobs on %d nodes",
                     space->row_count, space->column_count);
    for (size_t i = 0; i < 2 * GA_POPULATION; i++)
        ret->states[i] = ret->block + i * size;
    return 0;
}

void ga_population_clear (struct ga_population *population)
{
    free (population->block);
    population->block = NULL;
    population->count = 0;
}

/* A sum of products folded to 64 bits (as in wyhash), one for every eight entries, which do not
 * depend on each other.  Different states have the same hash about once in 2^64; then one of them
 * is lost. */
static uint64_t hash_state (const uint16_t *state, size_t size)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    enum { STEP = GA_LANES / 2 };
    uint64_t hash = 0, pair[2];
    _Static_assert(STEP * sizeof (state[0]) == sizeof (pair), "a pair of words");
    for (size_t i = 0; i < size; i += STEP) {
        memcpy (pair, state + i, sizeof (pair));
        uint64_t key = (i + 1) * golden;
        wide product = (wide)(pair[0] ^ key) * (pair[1] ^ (key >> 32 | key << 32));
        hash += (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return hash + (hash == 0); /* 0 means empty */
}

/* Add a hash; false if it is there already. */
static bool known_add (uint64_t *known, uint64_t hash)
{
    for (uint64_t i = hash % GA_KNOWN_SIZE;; i = (i + 1) % GA_KNOWN_SIZE) {
        if (known[i] == hash)
            return false;
        if (known[i] == 0) {
            known[i] = hash;
            return true;
        }
    }
}

uint16_t *ga_population_next (const struct ga_population *population)
{
    return population->states[population->count];
}

void ga_population_add (struct ga_population *population, struct ga_variation *variation)
{
    int index = population->count;
    struct ga_score score = ga_repair_and_score (variation, population->states[index]);
    uint64_t hash = hash_state (population->states[index], ga_state_size (variation->space));
    if (!known_add (population->known, hash))
        return;
    population->points[index] =
        (struct nsga2_point){.first = score.fitness, .second = score.utility};
    population->hashes[index] = hash;
    population->count++;
}

void ga_population_select (struct ga_population *population)
{
    int survivors[GA_POPULATION], count = population->count;
    int keep = count < GA_POPULATION ? count : GA_POPULATION;
    nsga2_select (population->points, count, keep, survivors);

    struct ga_population next = {.count = keep, .block = population->block};
    bool survives[2 * GA_POPULATION] = {false};
    for (int i = 0; i < keep; i++) {
        next.points[i] = population->points[survivors[i]];
        next.states[i] = population->states[survivors[i]];
        next.hashes[i] = population->hashes[survivors[i]];
        known_add (next.known, next.hashes[i]);
        survives[survivors[i]] = true;
    }
    for (int i = 0, at = keep; i < 2 * GA_POPULATION; i++)
        if (!survives[i])
            next.states[at++] = population->states[i];
    *population = next;
}

const uint16_t *ga_population_best (const struct ga_population *population)
{
    int best = 0;
    for (int i = 1; i < population->count; i++)
        if (population->points[i].first > population->points[best].first)
            best = i;
    return population->states[best];
}

/* Members in random order for the tournaments: each once before any again. */
struct shuffle {
    int members[GA_POPULATION];
    int count, left;
};

static int shuffle_draw (struct shuffle *shuffle, struct ga_variation *variation)
{
    if (shuffle->left == 0)
        shuffle->left = shuffle->count;
    int at = ga_draw (variation, shuffle->left--), member = shuffle->members[at];
    shuffle->members[at] = shuffle->members[shuffle->left];
    shuffle->members[shuffle->left] = member;
    return member;
}

/* The state of the better of two members. */
static const uint16_t *tournament (const struct ga_population *population, struct shuffle *shuffle,
                                   struct ga_variation *variation)
{
    int a = shuffle_draw (shuffle, variation), b = shuffle_draw (shuffle, variation);
    int better = nsga2_compare (&population->points[a], &population->points[b]);
    if (better == 0)
        better = ga_draw (variation, 2) ? 1 : -1;
    return population->states[better > 0 ? a : b];
}

void ga_population_breed (struct ga_population *population, struct ga_variation *variation)
{
    struct shuffle shuffle = {.count = population->count};
    for (int i = 0; i < shuffle.count; i++)
        shuffle.members[i] = i;
    int full = population->count + GA_POPULATION;
    for (int i = 0; i < ATTEMPTS && population->count < full; i++) {
        const uint16_t *a = tournament (population, &shuffle, variation);
        const uint16_t *b = tournament (population, &shuffle, variation);
        uint16_t *child = ga_population_next (population);
        ga_cross (variation, a, b, child);
        ga_mutate (variation, child);
        ga_population_add (population, variation);
    }
    ga_population_select (population);
}
