/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crossover, mutation, repair and score.  A round makes some ten thousand states, so everything
 * here is a few passes over small rows, and random bits are used by the sixteen, not by
 * the sixty-four.
 */
#include "policy/ga/variation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/speedup.h"

int ga_vary_new (const struct ga_space *space, uint64_t seed, struct ga_vary *ret,
                 struct pollux_error *err)
{
    size_t count = (size_t)space->stride + 1;
    struct ga_vary vary = {
        .space = space,
        .rng = rng_seed (seed),
        .free = malloc (count * sizeof (vary.free[0])),
        .shared = malloc (count * sizeof (vary.shared[0])),
        .in_use = malloc (count * sizeof (vary.in_use[0])),
        .open = malloc (count * sizeof (vary.open[0])),
        .own = malloc (count * sizeof (vary.own[0])),
        .none = malloc (count * sizeof (vary.none[0])),
    };
    if (!vary.free || !vary.shared || !vary.in_use || !vary.open || !vary.own || !vary.none) {
        ga_vary_clear (&vary);
        return fail (err, -ENOMEM, "no memory to search on %d nodes", space->column_count);
    }
    for (int i = 0; i <= space->column_count; i++)
        vary.none[i] = pow (1 - 1.0 / space->column_count, i);
    *ret = vary;
    return 0;
}

void ga_vary_clear (struct ga_vary *vary)
{
    free (vary->free);
    free (vary->shared);
    free (vary->in_use);
    free (vary->open);
    free (vary->own);
    free (vary->none);
    *vary = (struct ga_vary){0};
}

/* ---- Chance ---- */

static uint32_t draw_bits (struct ga_vary *vary, int count)
{
    if (vary->bit_count < count) {
        vary->bits = rng_next (&vary->rng);
        vary->bit_count = 64;
    }
    uint32_t bits = (uint32_t)(vary->bits & ((UINT64_C (1) << count) - 1));
    vary->bits >>= count;
    vary->bit_count -= count;
    return bits;
}

int ga_draw (struct ga_vary *vary, int bound)
{
    return (int)((uint64_t)draw_bits (vary, 32) * (uint64_t)bound >> 32);
}

/* True one time in ten, to 16 bits. */
static bool tenth (struct ga_vary *vary)
{
    return draw_bits (vary, 16) < 6554;
}

/* How many of count columns are hit, if each of all columns is with the same probability, one of
 * them on average: go up the binomial distribution until the drawn share of it is used up. */
static int draw_hits (struct ga_vary *vary, int count)
{
    int columns = vary->space->column_count, hits = 0;
    if (columns == 1)
        return count;
    double share = (draw_bits (vary, 32) + 0.5) * 0x1p-32, p = vary->none[count];
    while (share > p && hits < count) {
        share -= p;
        p *= (double)(count - hits) / ((hits + 1) * (columns - 1));
        hits++;
    }
    return hits;
}

/* ---- Rows ---- */

static struct pollux_shape row_shape (const uint16_t *row, int stride)
{
    struct pollux_shape shape = {0, 0};
    for (int block = 0; block < stride; block += GA_LANES) {
        uint16_t replicas = 0, nodes = 0;
        for (int i = block; i < block + GA_LANES; i++) {
            replicas = (uint16_t)(replicas + row[i]);
            nodes = (uint16_t)(nodes + (row[i] > 0));
        }
        shape.replicas += replicas;
        shape.nodes += nodes;
    }
    return shape;
}

static bool row_equal (const uint16_t *a, const uint16_t *b, int stride)
{
    uint16_t differ = 0;
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++)
            differ |= (uint16_t)(a[i] ^ b[i]);
    return differ == 0;
}

/* On each node only the first job that uses several stays. */
static void row_yield (uint16_t *restrict row, uint16_t *restrict shared, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++) {
            uint16_t mine = row[i] > 0 ? UINT16_MAX : 0;
            row[i] &= (uint16_t)~shared[i];
            shared[i] |= mine;
        }
}

/* Only what is free can be had.  True if the row had to be cut. */
static bool row_fit (uint16_t *restrict row, const uint16_t *restrict free, int stride)
{
    uint16_t differ = 0;
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++) {
            uint16_t fit = row[i] < free[i] ? row[i] : free[i];
            differ |= (uint16_t)(row[i] ^ fit);
            row[i] = fit;
        }
    return differ != 0;
}

static void row_take (const uint16_t *restrict row, uint16_t *restrict free,
                      uint16_t *restrict in_use, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++) {
            free[i] = (uint16_t)(free[i] - row[i]);
            in_use[i] |= row[i] > 0 ? UINT16_MAX : 0;
        }
}

/* Take what is there; of a node that has less, all of it. */
static void row_drain (const uint16_t *restrict row, uint16_t *restrict free, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++)
            free[i] = (uint16_t)((free[i] > row[i] ? free[i] : row[i]) - row[i]);
}

/* ---- Crossover and mutation ---- */

void ga_cross (struct ga_vary *vary, const uint16_t *a, const uint16_t *b, uint16_t *ret)
{
    size_t size = ga_state_size (vary->space);
    int rows = vary->space->row_count;
    size_t point = rows > 0 ? ga_row_at (vary->space, ga_draw (vary, rows)) : 0;
    memcpy (ret, a, point * sizeof (ret[0]));
    memcpy (ret + point, b + point, (size - point) * sizeof (ret[0]));
}

/* Draw an entry again, from what it is to what its node has. */
static void redraw (struct ga_vary *vary, uint16_t *row, int column)
{
    int more = vary->space->capacity[column] - row[column];
    if (more > 0)
        row[column] = (uint16_t)(row[column] + ga_draw (vary, more + 1));
}

/* Redraw entries of a row in open columns, those with slots to spare: each with a probability
 * that makes it one per row if all columns were open, and again one of those that the job uses.
 * Leaves open in another order. */
static void redraw_row (struct ga_vary *vary, uint16_t *row, int *open, int open_count)
{
    int own_count = 0;
    for (int i = 0; i < open_count; i++) {
        vary->own[own_count] = open[i];
        own_count += row[open[i]] > 0;
    }
    int nodes = own_count > 0 ? row_shape (row, vary->space->stride).nodes : 0;
    int hits = draw_hits (vary, open_count);
    for (int i = 0; i < hits; i++) {
        int other = i + ga_draw (vary, open_count - i), column = open[other];
        open[other] = open[i];
        open[i] = column;
        redraw (vary, row, column);
    }
    for (int i = 0; i < own_count; i++)
        if (ga_draw (vary, nodes) == 0)
            redraw (vary, row, vary->own[i]);
}

/* List the columns with slots to spare; returns how many there are. */
static int find_open (struct ga_vary *vary, const uint16_t *state)
{
    const struct ga_space *space = vary->space;
    memcpy (vary->free, space->capacity, (size_t)space->stride * sizeof (vary->free[0]));
    for (int r = 0; r < space->row_count; r++)
        row_drain (state + ga_row_at (space, r), vary->free, space->stride);
    int count = 0;
    for (int i = 0; i < space->column_count; i++)
        if (vary->free[i] > 0)
            vary->open[count++] = i;
    return count;
}

void ga_mutate (struct ga_vary *vary, uint16_t *state)
{
    const struct ga_space *space = vary->space;
    size_t stride = (size_t)space->stride;
    for (int r = 0; r < space->row_count; r++) {
        uint16_t *row = state + ga_row_at (space, r);
        if (tenth (vary))
            memcpy (row, space->current + ga_row_at (space, r), stride * sizeof (row[0]));
        if (tenth (vary))
            for (int i = 0; i < space->column_count; i++)
                row[i] = tenth (vary) ? 0 : row[i];
    }
    int open_count = find_open (vary, state);
    for (int r = 0; r < space->row_count && open_count > 0; r++)
        redraw_row (vary, state + ga_row_at (space, r), vary->open, open_count);
}

/* ---- Repair and score ---- */

/* Keep at most so many replicas, on as many nodes as are allowed, of nodes in random order. */
static void cut (struct ga_vary *vary, uint16_t *row, int replicas)
{
    int count = 0, kept = 0;
    for (int i = 0; i < vary->space->column_count; i++)
        if (row[i] > 0)
            vary->own[count++] = i;
    while (count > 0) {
        int at = ga_draw (vary, count), column = vary->own[at];
        vary->own[at] = vary->own[--count];
        if (kept++ == GA_NODES_LIMIT)
            replicas = 0;
        row[column] = row[column] < replicas ? row[column] : (uint16_t)replicas;
        replicas -= row[column];
    }
}

/* Make a row legal, and return its shape. */
static struct pollux_shape repair (struct ga_vary *vary, const struct ga_row *row, uint16_t *counts)
{
    const struct ga_space *space = vary->space;
    int stride = space->stride;
    struct pollux_shape shape = row_shape (counts, stride);
    if (shape.nodes > 1) {
        row_yield (counts, vary->shared, stride);
        shape = row_shape (counts, stride);
    }
    if (shape.replicas > row->limit || shape.nodes > GA_NODES_LIMIT) {
        cut (vary, counts, row->limit);
        shape = row_shape (counts, stride);
    }
    if (row_fit (counts, vary->free, stride))
        shape = row_shape (counts, stride);
    if (row->gapless)
        return shape;
    int fit = job_fit_replicas (space->view->jobs[row->job], shape.replicas);
    if (fit == shape.replicas)
        return shape;
    cut (vary, counts, fit);
    return row_shape (counts, stride);
}

static double utility (const struct ga_vary *vary, double speedups)
{
    const struct ga_space *space = vary->space;
    int slots = 0;
    for (int i = 0; i < space->column_count; i++)
        slots += vary->in_use[i] ? space->slots[i] : 0;
    return slots > 0 ? speedups / slots : 0;
}

struct ga_score ga_settle (struct ga_vary *vary, uint16_t *state)
{
    const struct ga_space *space = vary->space;
    int stride = space->stride;
    size_t size = (size_t)stride * sizeof (state[0]);
    memcpy (vary->free, space->capacity, size);
    memcpy (vary->shared, space->shared, size);
    memcpy (vary->in_use, space->in_use, size);
    double p = space->p, terms = space->pinned_terms, speedups = space->pinned_speedup;
    bool adds = !isinf (p);
    for (int r = 0; r < space->row_count; r++) {
        const struct ga_row *row = &space->rows[r];
        uint16_t *counts = state + ga_row_at (space, r);
        struct pollux_shape shape = repair (vary, row, counts);
        row_take (counts, vary->free, vary->in_use, stride);
        const struct ga_worth *cost = &row->cost[ga_value_index (shape.replicas, shape.nodes)];
        bool stays =
            !row->homeless && row_equal (counts, space->current + ga_row_at (space, r), stride);
        double term = stays ? cost->kept : cost->moved;
        terms = adds ? terms + term : fitness_add (p, terms, term);
        speedups += cost->speedup;
    }
    return (struct ga_score){
        .fitness = fitness_mean (p, terms, space->weights),
        .utility = utility (vary, speedups),
    };
}
