/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pollux as published: a genetic search, NSGA-II, for the plan with the best fitness.  Its second
 * objective, the cluster's utility, is there to keep the population diverse.
 *
 *     last round's population, or the current state
 *       -> 99 times: tournaments -> crossover -> mutation -> repair -> the best 100 survive
 *       -> the member with the best fitness
 *
 * Memory: the final population, whose rows and columns find their jobs and nodes again by name.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/ga_vary.h"
#include "policy/nsga2.h"
#include "policy/objective.h"
#include "policy/policies.h"
#include "policy/roster.h"
#include "policy/speedup.h"

enum {
    POPULATION = 100,
    GENERATIONS = 100, /* the first is what the search starts from */
    ATTEMPTS = 400,    /* at new members in one generation; small problems have few states */
    KNOWN_SIZE = 512,  /* of the hash of members, a power of two, > 2 x POPULATION */
};
_Static_assert(2 * POPULATION <= NSGA2_LIMIT, "parents and children compete");

/* Parents first, then their children.  Points, states and hashes belong together by index. */
struct population {
    struct nsga2_point points[2 * POPULATION];
    uint16_t *states[2 * POPULATION]; /* into block */
    uint64_t hashes[2 * POPULATION];
    int count;
    uint16_t *block;
};

struct ga_memory {
    struct roster jobs, nodes;
    struct population population; /* members only; block NULL: none yet */
    int *row_of;                  /* by index in jobs; -1: none */
    int *column_of;               /* by index in nodes; -1: none */
    int stride;
};

static int ga_memory_new (void **ret, struct pollux_error *err)
{
    struct ga_memory *memory = calloc (1, sizeof (*memory));
    if (!memory)
        return fail (err, -ENOMEM, "no memory for a population");
    *ret = memory;
    return 0;
}

static void ga_memory_free (void *self)
{
    struct ga_memory *memory = self;
    if (!memory)
        return;
    roster_clear (&memory->jobs);
    roster_clear (&memory->nodes);
    free (memory->population.block);
    free (memory->row_of);
    free (memory->column_of);
    free (memory);
}

/* ---- The population ---- */

static int population_new (const struct ga_space *space, struct population *ret,
                           struct pollux_error *err)
{
    size_t size = ga_state_size (space);
    *ret =
        (struct population){.block = malloc ((2 * POPULATION * size + 1) * sizeof (ret->block[0]))};
    if (!ret->block)
        return fail (err, -ENOMEM, "no memory for a population of states of %d jobs on %d nodes",
                     space->row_count, space->column_count);
    for (size_t i = 0; i < 2 * POPULATION; i++)
        ret->states[i] = ret->block + i * size;
    return 0;
}

/* A sum of products folded to 64 bits (as in wyhash), one for each eight entries, so that none waits
 * for the one before.  Different states have the same hash about one time in 2^64; one of
 * them would be lost, no more. */
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
    return hash;
}

/* The hashes of all members, so that nobody is in the population twice. */
struct known {
    uint64_t hashes[KNOWN_SIZE]; /* 0: empty */
};

/* Note a hash; false if it was there. */
static bool known_add (struct known *known, uint64_t hash)
{
    hash += hash == 0;
    for (uint64_t i = hash % KNOWN_SIZE;; i = (i + 1) % KNOWN_SIZE) {
        if (known->hashes[i] == hash)
            return false;
        if (known->hashes[i] == 0) {
            known->hashes[i] = hash;
            return true;
        }
    }
}

/* Repair and score the state after the last member, and make it one unless it is there already. */
static bool population_admit (struct population *population, struct ga_vary *vary,
                              struct known *known)
{
    int index = population->count;
    struct ga_score score = ga_settle (vary, population->states[index]);
    uint64_t hash = hash_state (population->states[index], ga_state_size (vary->space));
    if (!known_add (known, hash))
        return false;
    population->points[index] = (struct nsga2_point){score.fitness, score.utility, 0, 0};
    population->hashes[index] = hash;
    population->count++;
    return true;
}

/* Let the best survive, at most POPULATION of them; the states of the others are free again. */
static void population_cull (struct population *population)
{
    int survivors[POPULATION], count = population->count;
    int keep = count < POPULATION ? count : POPULATION;
    nsga2_survive (population->points, count, keep, survivors);

    struct population next = {.count = keep, .block = population->block};
    bool survives[2 * POPULATION] = {false};
    for (int i = 0; i < keep; i++) {
        next.points[i] = population->points[survivors[i]];
        next.states[i] = population->states[survivors[i]];
        next.hashes[i] = population->hashes[survivors[i]];
        survives[survivors[i]] = true;
    }
    for (int i = 0, at = keep; i < 2 * POPULATION; i++)
        if (!survives[i])
            next.states[at++] = population->states[i];
    *population = next;
}

static int population_best (const struct population *population)
{
    int best = 0;
    for (int i = 1; i < population->count; i++)
        if (population->points[i].first > population->points[best].first)
            best = i;
    return best;
}

/* ---- Generations ---- */

/* Who competes: every member once before any member again. */
struct lots {
    int members[POPULATION];
    int count, left;
};

static int lots_draw (struct lots *lots, struct ga_vary *vary)
{
    if (lots->left == 0)
        lots->left = lots->count;
    int at = ga_draw (vary, lots->left--), member = lots->members[at];
    lots->members[at] = lots->members[lots->left];
    lots->members[lots->left] = member;
    return member;
}

static int tournament (const struct population *population, struct lots *lots, struct ga_vary *vary)
{
    int a = lots_draw (lots, vary), b = lots_draw (lots, vary);
    int better = nsga2_compare (&population->points[a], &population->points[b]);
    if (better == 0)
        better = ga_draw (vary, 2) ? 1 : -1;
    return better > 0 ? a : b;
}

static void generation (struct population *population, struct ga_vary *vary)
{
    struct known known = {0};
    struct lots lots = {.count = population->count};
    for (int i = 0; i < population->count; i++) {
        known_add (&known, population->hashes[i]);
        lots.members[i] = i;
    }
    int full = population->count + POPULATION;
    for (int i = 0; i < ATTEMPTS && population->count < full; i++) {
        const uint16_t *a = population->states[tournament (population, &lots, vary)];
        const uint16_t *b = population->states[tournament (population, &lots, vary)];
        uint16_t *child = population->states[population->count];
        ga_cross (vary, a, b, child);
        ga_mutate (vary, child);
        population_admit (population, vary, &known);
    }
    population_cull (population);
}

/* ---- From round to round ---- */

/* A remembered state in terms of this round; newcomers get nothing. */
static void translate (const struct ga_memory *memory, const struct ga_space *space,
                       const int *old_rows, const int *old_columns, const uint16_t *old,
                       uint16_t *state)
{
    memset (state, 0, ga_state_size (space) * sizeof (state[0]));
    for (int r = 0; r < space->row_count; r++) {
        if (old_rows[r] < 0)
            continue;
        const uint16_t *from = old + old_rows[r] * memory->stride;
        uint16_t *to = state + r * space->stride;
        for (int i = 0; i < space->column_count; i++) {
            uint16_t count = old_columns[i] >= 0 ? from[old_columns[i]] : 0;
            to[i] = count < space->capacity[i] ? count : space->capacity[i];
        }
    }
}

/* Where this round's rows and columns were in the last one. */
static void find_again (const struct ga_memory *memory, const struct ga_space *space, int *old_rows,
                        int *old_columns)
{
    const struct view *view = space->view;
    for (int i = 0, next = 0; i < view->job_count; i++) {
        int old = roster_seek (&memory->jobs, view->jobs[i]->spec.name, &next);
        if (space->row_of[i] >= 0)
            old_rows[space->row_of[i]] = old >= 0 ? memory->row_of[old] : -1;
    }
    for (int i = 0, next = 0; i < space->column_count; i++) {
        int old = roster_seek (&memory->nodes, view->nodes[space->nodes[i]].name, &next);
        old_columns[i] = old >= 0 ? memory->column_of[old] : -1;
    }
}

/* Members to start from: the remembered ones, and the current state where there are none. */
static int populate (const struct ga_memory *memory, const struct ga_space *space,
                     struct ga_vary *vary, struct population *population, struct pollux_error *err)
{
    size_t rows = (size_t)space->row_count;
    int *old = malloc ((rows + (size_t)space->column_count + 1) * sizeof (old[0]));
    if (!old)
        return fail (err, -ENOMEM, "no memory to remember %d jobs", space->row_count);
    find_again (memory, space, old, old + rows);
    struct known known = {0};
    for (int i = 0; i < memory->population.count; i++) {
        translate (memory, space, old, old + rows, memory->population.states[i],
                   population->states[population->count]);
        population_admit (population, vary, &known);
    }
    if (population->count == 0) {
        memcpy (population->states[0], space->current,
                ga_state_size (space) * sizeof (space->current[0]));
        population_admit (population, vary, &known);
    }
    free (old);
    population_cull (population);
    return 0;
}

/* Remember the population, which is the memory's from now on. */
static int remember (struct ga_memory *memory, const struct ga_space *space,
                     struct population *population, struct pollux_error *err)
{
    const struct view *view = space->view;
    int *row_of = malloc (((size_t)view->job_count + 1) * sizeof (row_of[0]));
    int *column_of = malloc (((size_t)view->node_count + 1) * sizeof (column_of[0]));
    int rc = row_of && column_of ? 0 : fail (err, -ENOMEM, "no memory to remember a population");
    memory->population.count = 0; /* whatever fails, it does not fit the names */
    if (rc == 0)
        rc = roster_set_jobs (&memory->jobs, view, err);
    if (rc == 0)
        rc = roster_set_nodes (&memory->nodes, view, err);
    if (rc < 0) {
        free (row_of);
        free (column_of);
        return rc;
    }
    memcpy (row_of, space->row_of, (size_t)view->job_count * sizeof (row_of[0]));
    for (int i = 0; i < view->node_count; i++)
        column_of[i] = -1;
    for (int i = 0; i < space->column_count; i++)
        column_of[space->nodes[i]] = i;
    free (memory->row_of);
    free (memory->column_of);
    free (memory->population.block);
    memory->row_of = row_of;
    memory->column_of = column_of;
    memory->stride = space->stride;
    memory->population = *population;
    population->block = NULL;
    return 0;
}

/* ---- The plan ---- */

static bool stays (const struct ga_space *space, int row, const uint16_t *state)
{
    size_t first = (size_t)row * (size_t)space->stride;
    return !space->rows[row].homeless && memcmp (state + first, space->current + first,
                                                 (size_t)space->stride * sizeof (state[0])) == 0;
}

/* A job's placement: as in the state, or as it is where the counts are the same, so that the
 * order of its ranks is, too, and nothing restarts. */
static struct placement placement_of (const struct ga_space *space, int job, const uint16_t *state,
                                      struct share *shares)
{
    int row = space->row_of[job];
    if (row < 0 || stays (space, row, state))
        return space->view->jobs[job]->placement;
    const uint16_t *counts = state + row * space->stride;
    struct placement placement = {shares, 0};
    for (int i = 0; i < space->column_count; i++)
        if (counts[i] > 0)
            shares[placement.count++] = (struct share){space->nodes[i], counts[i]};
    return placement;
}

static int make_plan (const struct ga_space *space, const uint16_t *state, struct plan *plan,
                      struct pollux_error *err)
{
    const struct view *view = space->view;
    struct share *shares = malloc (((size_t)space->column_count + 1) * sizeof (shares[0]));
    double *x = malloc (((size_t)view->job_count + 1) * sizeof (x[0]));
    int rc = shares && x ? 0 : -ENOMEM;
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        const struct job *job = view->jobs[i];
        struct placement placement = placement_of (space, i, state, shares);
        struct pollux_shape shape = placement_shape (placement);
        const struct ga_worth *worth = space->worth_of[i];
        plan->speedups[i] = worth[ga_worth_index (shape.replicas, shape.nodes)].speedup;
        x[i] = plan->speedups[i] * space->per_speedup;
        if (placement.shares != job->placement.shares)
            x[i] *= restart_factor (view, job);
        rc = plan_place (plan, i, placement);
    }
    if (rc == 0)
        plan->fitness = objective_mean (view, x);
    free (shares);
    free (x);
    return rc < 0 ? fail (err, rc, "no memory for a plan of %d jobs", plan->job_count) : 0;
}

static int search (const struct ga_space *space, struct ga_memory *memory, struct plan *plan,
                   struct pollux_error *err)
{
    const struct view *view = space->view;
    struct ga_vary vary;
    int rc = ga_vary_new (space, view->seed, &vary, err);
    if (rc < 0)
        return rc;
    struct population population;
    rc = population_new (space, &population, err);
    if (rc == 0)
        rc = populate (memory, space, &vary, &population, err);
    int64_t generations = view->budget > 0 ? view->budget : GENERATIONS;
    for (int64_t i = 1; i < generations && rc == 0; i++)
        generation (&population, &vary);
    if (rc == 0)
        rc = make_plan (space, population.states[population_best (&population)], plan, err);
    if (rc == 0)
        rc = remember (memory, space, &population, err);
    free (population.block);
    ga_vary_clear (&vary);
    return rc;
}

static int pollux_ga_decide (const struct view *view, void *memory, struct plan *plan,
                             struct pollux_error *err)
{
    if (view->job_count == 0)
        return 0;
    struct ga_space space;
    int rc = ga_space_new (view, &space, err);
    if (rc < 0)
        return rc;
    rc = search (&space, memory, plan, err);
    ga_space_clear (&space);
    return rc;
}

const struct policy policy_pollux_ga = {
    .name = "pollux-ga",
    .summary = "goodput by genetic search, as published",
    .adaptive = true,
    .elastic = true,
    .search = POLLUX_REFERENCE,
    .memory_new = ga_memory_new,
    .memory_free = ga_memory_free,
    .decide = pollux_ga_decide,
};
