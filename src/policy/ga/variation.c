/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crossover, mutation, repair and score.  A round makes about ten thousand states, so each step is
 * a few passes over small rows, and a random number of 64 bits serves several draws.
 */
#include "policy/ga/variation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/speedup.h"

int ga_variation_new (const struct ga_space *space, uint64_t seed, struct ga_variation *ret,
                      struct pollux_error *err)
{
    size_t count = (size_t)space->stride + 1;
    struct ga_variation variation = {
        .space = space,
        .rng = rng_seed (seed),
        .free = malloc (count * sizeof (variation.free[0])),
        .shared = malloc (count * sizeof (variation.shared[0])),
        .in_use = malloc (count * sizeof (variation.in_use[0])),
        .open = malloc (count * sizeof (variation.open[0])),
        .own = malloc (count * sizeof (variation.own[0])),
        .none = malloc (count * sizeof (variation.none[0])),
    };
    if (!variation.free || !variation.shared || !variation.in_use || !variation.open ||
        !variation.own || !variation.none) {
        ga_variation_clear (&variation);
        return fail (err, -ENOMEM, "no memory to search on %d nodes", space->column_count);
    }
    for (int i = 0; i <= space->column_count; i++)
        variation.none[i] = pow (1 - 1.0 / space->column_count, i);
    *ret = variation;
    return 0;
}

void ga_variation_clear (struct ga_variation *variation)
{
    free (variation->free);
    free (variation->shared);
    free (variation->in_use);
    free (variation->open);
    free (variation->own);
    free (variation->none);
    *variation = (struct ga_variation){0};
}

/* ---- Random draws ---- */

static uint32_t draw_bits (struct ga_variation *variation, int count)
{
    if (variation->bit_count < count) {
        variation->bits = rng_next (&variation->rng);
        variation->bit_count = 64;
    }
    uint32_t bits = (uint32_t)(variation->bits & ((UINT64_C (1) << count) - 1));
    variation->bits >>= count;
    variation->bit_count -= count;
    return bits;
}

int ga_draw (struct ga_variation *variation, int bound)
{
    return (int)((uint64_t)draw_bits (variation, 32) * (uint64_t)bound >> 32);
}

/* True one time in ten, to 16 bits. */
static bool tenth (struct ga_variation *variation)
{
    return draw_bits (variation, 16) < 6554;
}

/* Draw the number of hits among `count` columns, if each of all columns is hit with probability
 * 1/columns: invert the binomial distribution. */
static int draw_hits (struct ga_variation *variation, int count)
{
    int columns = variation->space->column_count, hits = 0;
    if (columns == 1)
        return count;
    double share = (draw_bits (variation, 32) + 0.5) * 0x1p-32, p = variation->none[count];
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

/* Clear the entries on nodes that an earlier job on several nodes uses, and mark the row's nodes. */
static void row_yield (uint16_t *restrict row, uint16_t *restrict shared, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++) {
            uint16_t mine = row[i] > 0 ? UINT16_MAX : 0;
            row[i] &= (uint16_t)~shared[i];
            shared[i] |= mine;
        }
}

/* Limit every entry to the free slots.  True if one changed. */
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

/* Take the row's slots. */
static void row_take (const uint16_t *restrict row, uint16_t *restrict free,
                      uint16_t *restrict in_use, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++) {
            free[i] = (uint16_t)(free[i] - row[i]);
            in_use[i] |= row[i] > 0 ? UINT16_MAX : 0;
        }
}

/* Take the row's slots, at most those that are free. */
static void row_drain (const uint16_t *restrict row, uint16_t *restrict free, int stride)
{
    for (int block = 0; block < stride; block += GA_LANES)
        for (int i = block; i < block + GA_LANES; i++)
            free[i] = (uint16_t)((free[i] > row[i] ? free[i] : row[i]) - row[i]);
}

/* ---- Crossover and mutation ---- */

void ga_cross (struct ga_variation *variation, const uint16_t *a, const uint16_t *b, uint16_t *ret)
{
    size_t size = ga_state_size (variation->space);
    int rows = variation->space->row_count;
    size_t point = rows > 0 ? ga_row_at (variation->space, ga_draw (variation, rows)) : 0;
    memcpy (ret, a, point * sizeof (ret[0]));
    memcpy (ret + point, b + point, (size - point) * sizeof (ret[0]));
}

/* Draw an entry again, between its present count and the capacity of its node. */
static void redraw (struct ga_variation *variation, uint16_t *row, int column)
{
    int more = variation->space->capacity[column] - row[column];
    if (more > 0)
        row[column] = (uint16_t)(row[column] + ga_draw (variation, more + 1));
}

/* Redraw entries of a row in the open columns, those with free slots: each with probability
 * 1/columns, and those that the job uses again with probability 1/nodes of the job.  Changes the
 * order of open. */
static void redraw_row (struct ga_variation *variation, uint16_t *row, int *open, int open_count)
{
    int own_count = 0;
    for (int i = 0; i < open_count; i++) {
        variation->own[own_count] = open[i];
        own_count += row[open[i]] > 0;
    }
    int nodes = own_count > 0 ? row_shape (row, variation->space->stride).nodes : 0;
    int hits = draw_hits (variation, open_count);
    for (int i = 0; i < hits; i++) {
        int other = i + ga_draw (variation, open_count - i), column = open[other];
        open[other] = open[i];
        open[i] = column;
        redraw (variation, row, column);
    }
    for (int i = 0; i < own_count; i++)
        if (ga_draw (variation, nodes) == 0)
            redraw (variation, row, variation->own[i]);
}

/* List the columns with free slots; returns their number. */
static int find_open (struct ga_variation *variation, const uint16_t *state)
{
    const struct ga_space *space = variation->space;
    memcpy (variation->free, space->capacity, (size_t)space->stride * sizeof (variation->free[0]));
    for (int r = 0; r < space->row_count; r++)
        row_drain (state + ga_row_at (space, r), variation->free, space->stride);
    int count = 0;
    for (int i = 0; i < space->column_count; i++)
        if (variation->free[i] > 0)
            variation->open[count++] = i;
    return count;
}

void ga_mutate (struct ga_variation *variation, uint16_t *state)
{
    const struct ga_space *space = variation->space;
    size_t stride = (size_t)space->stride;
    for (int r = 0; r < space->row_count; r++) {
        uint16_t *row = state + ga_row_at (space, r);
        if (tenth (variation))
            memcpy (row, space->current + ga_row_at (space, r), stride * sizeof (row[0]));
        if (tenth (variation))
            for (int i = 0; i < space->column_count; i++)
                row[i] = tenth (variation) ? 0 : row[i];
    }
    int open_count = find_open (variation, state);
    for (int r = 0; r < space->row_count && open_count > 0; r++)
        redraw_row (variation, state + ga_row_at (space, r), variation->open, open_count);
}

/* ---- Repair and score ---- */

/* Keep at most `replicas` replicas on at most GA_NODES_LIMIT nodes, taken in random order. */
static void cut (struct ga_variation *variation, uint16_t *row, int replicas)
{
    int count = 0, kept = 0;
    for (int i = 0; i < variation->space->column_count; i++)
        if (row[i] > 0)
            variation->own[count++] = i;
    while (count > 0) {
        int at = ga_draw (variation, count), column = variation->own[at];
        variation->own[at] = variation->own[--count];
        if (kept++ == GA_NODES_LIMIT)
            replicas = 0;
        row[column] = row[column] < replicas ? row[column] : (uint16_t)replicas;
        replicas -= row[column];
    }
}

/* Make a row legal, and return its shape. */
static struct pollux_shape repair (struct ga_variation *variation, const struct ga_row *row,
                                   uint16_t *counts)
{
    const struct ga_space *space = variation->space;
    int stride = space->stride;
    struct pollux_shape shape = row_shape (counts, stride);
    if (shape.nodes > 1) {
        row_yield (counts, variation->shared, stride);
        shape = row_shape (counts, stride);
    }
    if (shape.replicas > row->limit || shape.nodes > GA_NODES_LIMIT) {
        cut (variation, counts, row->limit);
        shape = row_shape (counts, stride);
    }
    if (row_fit (counts, variation->free, stride))
        shape = row_shape (counts, stride);
    if (row->gapless)
        return shape;
    int fit = job_fit_replicas (space->view->jobs[row->job], shape.replicas);
    if (fit == shape.replicas)
        return shape;
    cut (variation, counts, fit);
    return row_shape (counts, stride);
}

static double utility (const struct ga_variation *variation, double speedups)
{
    const struct ga_space *space = variation->space;
    int slots = 0;
    for (int i = 0; i < space->column_count; i++)
        slots += variation->in_use[i] ? space->slots[i] : 0;
    return slots > 0 ? speedups / slots : 0;
}

struct ga_score ga_repair_and_score (struct ga_variation *variation, uint16_t *state)
{
    const struct ga_space *space = variation->space;
    int stride = space->stride;
    size_t size = (size_t)stride * sizeof (state[0]);
    memcpy (variation->free, space->capacity, size);
    memcpy (variation->shared, space->shared, size);
    memcpy (variation->in_use, space->in_use, size);
    double p = space->p, terms = space->pinned_terms, speedups = space->pinned_speedup;
    bool adds = !isinf (p);
    for (int r = 0; r < space->row_count; r++) {
        const struct ga_row *row = &space->rows[r];
        uint16_t *counts = state + ga_row_at (space, r);
        struct pollux_shape shape = repair (variation, row, counts);
        row_take (counts, variation->free, variation->in_use, stride);
        const struct ga_value *value = &row->values[ga_value_index (shape.replicas, shape.nodes)];
        bool stays =
            !row->must_move && row_equal (counts, space->current + ga_row_at (space, r), stride);
        double term = stays ? value->kept : value->moved;
        terms = adds ? terms + term : fitness_add (p, terms, term);
        speedups += value->speedup;
    }
    return (struct ga_score){
        .fitness = fitness_mean (p, terms, space->weights),
        .utility = utility (variation, speedups),
    };
}
