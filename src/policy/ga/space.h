/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space that the genetic search looks through: a state is a matrix of replica counts, with a
 * row for each job, in order of precedence, and a column for each node that is available.
 *
 *              n0 n1 n2 n3      columns are padded with zeros to a multiple of GA_LANES, so that
 *     job b   | 4  2  .  . |    loops over a row have blocks of known length, which compilers
 *     job a   | .  1  .  . |    turn into vector instructions
 *     job c   | .  .  4  3 |
 *
 * Jobs that may not be preempted are no rows: what they hold is taken from the columns.
 */
#ifndef POLICY_GA_SPACE_H
#define POLICY_GA_SPACE_H

#include "cluster/view.h"

enum {
    GA_LANES = 16,
    GA_NODES_LIMIT = 16,   /* that one job may use, as published */
    GA_SLOTS_LIMIT = 4095, /* of one node that are seen; a block of lanes adds up in 16 bits */
};
_Static_assert(GA_LANES *GA_SLOTS_LIMIT <= UINT16_MAX, "sums of a block fit");

/* What a count of replicas is worth to a job: speedup over its fair share, and its term of the
 * fitness where it stays as it is and where it moves. */
struct ga_worth {
    double speedup;
    double kept, moved;
};

struct ga_row {
    int job;                     /* index in the view */
    int limit;                   /* most replicas */
    bool gapless;                /* all counts up to the limit are allowed */
    bool homeless;               /* it is where it cannot stay: every state moves it */
    const struct ga_worth *cost; /* the job's, by ga_worth_index */
};

struct ga_space {
    const struct view *view;
    double p;           /* the view's, or -inf where that is near */
    double per_speedup; /* nodes / slots: x of a job is its speedup times this */
    struct ga_row *rows;
    int row_count;
    int *row_of; /* by job of the view; -1: no row */
    int *nodes;  /* index in the view, by column */
    int column_count;
    int stride;         /* columns with their padding */
    uint16_t *capacity; /* by column: slots that the rows may use */
    uint16_t *shared;   /* by column: all ones if a job on several nodes uses it already */
    uint16_t *in_use;   /* by column: all ones if any job uses it already */
    int *slots;         /* by column: all slots of the node */
    uint16_t *current;  /* the state as it is now; may be illegal */
    /* Of the jobs without a row. */
    double pinned_terms, pinned_speedup;
    double weights; /* of all jobs */
    struct ga_worth *worths;
    const struct ga_worth **worth_of; /* by job of the view */
};

/* A state's two objectives. */
struct ga_score {
    double fitness;
    double utility; /* speedups / slots of the nodes in use */
};

static inline int ga_value_index (int replicas, int nodes)
{
    return 2 * replicas + (nodes > 1);
}

/* Where a row begins. */
static inline size_t ga_row_at (const struct ga_space *space, int row)
{
    return (size_t)row * (size_t)space->stride;
}

/* Entries of a state. */
static inline size_t ga_state_size (const struct ga_space *space)
{
    return ga_row_at (space, space->row_count);
}

/* The space of a view, which must live as long.  On failure -ENOMEM, or -EINVAL for a job
 * whose hints are nonsense.  ga_space_clear frees. */
int ga_space_new (const struct view *view, struct ga_space *ret, struct pollux_error *err);
void ga_space_clear (struct ga_space *space);

#endif
