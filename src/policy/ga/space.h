/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search space of the genetic search.  A state is a matrix of replica counts, with a row for
 * each job, in order of precedence, and a column for each available node.
 *
 *              n0 n1 n2 n3      Rows are padded with zeros to a multiple of GA_LANES, so that
 *     job b   | 4  2  .  . |    loops over a row have blocks of constant length, which compilers
 *     job a   | .  1  .  . |    turn into vector instructions.
 *     job c   | .  .  4  3 |
 *
 * Pinned jobs have no row: their slots are subtracted from the columns.
 */
#ifndef POLICY_GA_SPACE_H
#define POLICY_GA_SPACE_H

#include "cluster/view.h"

enum {
    GA_LANES = 16,
    GA_NODES_LIMIT = 16,   /* nodes of one job, as published */
    GA_SLOTS_LIMIT = 4095, /* slots used of one node: the sum of a block of lanes fits in 16 bits */
};
_Static_assert(GA_LANES *GA_SLOTS_LIMIT <= UINT16_MAX, "sums of a block fit");

/* The value of a shape for a job: speedup over its fair share, and the job's term of the fitness if
 * it keeps its placement and if it moves. */
struct ga_value {
    double speedup;
    double kept, moved;
};

struct ga_row {
    int job;                       /* index in the view */
    int limit;                     /* most replicas */
    bool gapless;                  /* all counts up to the limit are allowed */
    bool must_move;                /* it cannot keep its placement: every state moves it */
    const struct ga_value *values; /* by ga_value_index */
};

struct ga_space {
    const struct view *view;
    double p;           /* of the view; -inf if it is below FITNESS_LEAST_P */
    double per_speedup; /* nodes / slots; x of a job is its speedup times this */
    struct ga_row *rows;
    int row_count;
    int *row_of; /* by job of the view; -1: no row */
    int *nodes;  /* index in the view, by column */
    int column_count;
    int stride;         /* columns with their padding */
    uint16_t *capacity; /* by column: slots that pinned jobs leave */
    uint16_t *shared;   /* by column: all bits set if a pinned job on several nodes uses it */
    uint16_t *in_use;   /* by column: all bits set if a pinned job uses it */
    int *slots;         /* by column: all slots of the node */
    uint16_t *current;  /* the state of the current placements; may be illegal */
    /* Sums over the pinned jobs. */
    double pinned_terms, pinned_speedup;
    double weights; /* of all jobs */
    struct ga_value *values;
    const struct ga_value **values_of; /* by job of the view */
};

/* A state's two objectives. */
struct ga_score {
    double fitness;
    double utility; /* sum of speedups / slots of the nodes in use */
};

static inline int ga_value_index (int replicas, int nodes)
{
    return 2 * replicas + (nodes > 1);
}

/* Index of the first entry of a row. */
static inline size_t ga_row_at (const struct ga_space *space, int row)
{
    return (size_t)row * (size_t)space->stride;
}

/* Number of entries of a state. */
static inline size_t ga_state_size (const struct ga_space *space)
{
    return ga_row_at (space, space->row_count);
}

/* The space of a view, which is borrowed.  -EINVAL names a job with invalid hints; -ENOMEM.
 * ga_space_clear frees. */
int ga_space_new (const struct view *view, struct ga_space *ret, struct pollux_error *err);
void ga_space_clear (struct ga_space *space);

#endif
