/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: the slots of every node while a plan is being made. */
#ifndef SOLVER_PACKING_H
#define SOLVER_PACKING_H

#include "base/arena.h"
#include "solver/priced_options.h"

/* A job's place in the packing. */
struct place {
    const struct priced_option *option; /* NULL: not decided, without slots */
    struct share *shares;
    int count, capacity;
};

/*
 * Nodes with the same number of free slots are in one list, so that the best fit is found at
 * once; lists of nodes with an owner (a job on several nodes) are apart.
 *
 *     lists[owned][free] --> node <-> node <-> node
 */
struct packing {
    const struct solver_job *jobs;
    struct place *places;
    int job_count;
    int *free;     /* slots, by node */
    int *owner;    /* the job on several nodes that uses this node, or -1 */
    int *capacity; /* slots that pinned jobs leave */
    bool *closed;  /* a pinned job on several nodes uses this node */
    int node_count, free_most;
    int free_count;     /* slots in all */
    int open_count;     /* of these, on nodes without an owner */
    int *lists;         /* heads, 2 x (free_most + 1), -1: empty */
    int *next, *prev;   /* by node */
    int *first, *count; /* by node: its jobs are tenants[first] .. + count */
    int *tenants;
    bool *used;                        /* by node: scratch, false between uses */
    int *local;                        /* by node: scratch for groups, -1 between uses */
    struct share *try;                 /* scratch, one share per node */
    const struct piece_prices *prices; /* NULL before there is one */
    struct arena *arena;
};

/* An empty packing: no job has slots.  -ENOMEM. */
int packing_make (const struct solver_problem *problem, struct arena *arena, struct packing *ret);

/* The jobs placed so far are pinned: what they leave is what there is. */
void packing_settle (struct packing *packing);

/* Where a option would go now, the best fit: on one node, on one with as few free slots as will
 * do; on several, cut as the tariff has it cheapest if there are nodes for the pieces, or else
 * over the freest nodes.  False if it does not fit.  *ret is good until the next call. */
bool packing_find (struct packing *packing, int job, const struct priced_option *option,
                   struct placement *ret);

/* Give a job, which has none, its shares; take them back. -ENOMEM. */
int packing_put (struct packing *packing, int job, const struct priced_option *option,
                 struct placement placement);
void packing_take (struct packing *packing, int job);

/* What a job pays at the tariff for what it has on a node. */
cost packing_piece (const struct packing *packing, int job, int node);

/* What a node could hold at the tariff beyond what it does. */
cost packing_slack (const struct packing *packing, const struct option_lists *lists, int node);

/* Loss of the plan so far; undecided jobs count nothing. */
cost packing_loss (const struct packing *packing);

#endif
