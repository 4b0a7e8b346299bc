/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in the making: the jobs' places and the free slots of every node. */
#ifndef SOLVER_PACKING_H
#define SOLVER_PACKING_H

#include "base/arena.h"
#include "solver/priced_options.h"

/* What a job has. */
struct place {
    const struct priced_option *option; /* NULL: undecided, without slots */
    struct share *shares;
    int count, capacity;
};

/*
 * The free slots of a pool.  A node is open while no job on several nodes uses it.  Nodes with the
 * same number of free slots are in one list, so that the best fit is found at once; open nodes and the
 * others have separate lists.
 *
 *     lists[open ? 0 : 1][free] --> node <-> node <-> node
 */
struct packing_pool {
    int *lists;     /* heads, 2 x (free_most + 1), -1: empty */
    int free_most;  /* slots of its largest node */
    int free_count; /* slots on all its nodes */
    int open_count; /* free slots on its open nodes */
};

/* All jobs and nodes. */
struct packing {
    const struct solver_job *jobs;
    struct place *places;
    int job_count;
    struct packing_pool *pools;
    int pool_count;
    const int *pool_of; /* by node */
    int *free;          /* slots, by node */
    int *multi_job;     /* by node: the job on several nodes that uses it; -1: the node is open */
    int *capacity;      /* by node: slots that pinned jobs leave */
    bool *closed;       /* by node: a pinned job on several nodes uses it */
    int node_count;
    int free_most;                     /* slots of the largest node */
    int free_count;                    /* slots on all nodes */
    int *next, *prev;                  /* by node */
    int *first_on, *count_on;          /* by node: its jobs are jobs_on[first_on] .. + count_on */
    int *jobs_on;                      /* by slot */
    bool *used;                        /* by node: scratch, false between uses */
    int *local;                        /* by node: its index in the subproblem; -1: not in it */
    struct share *scratch;             /* one share per node */
    const struct piece_prices *prices; /* by pool; NULL before they are known */
    struct arena *arena;
};

/* An empty packing: no job has slots.  -ENOMEM. */
int packing_make (const struct solver_problem *problem, struct arena *arena, struct packing *ret);

/* Set capacity and closed: the jobs placed so far are the pinned ones. */
void packing_set_capacity (struct packing *packing);

/* Find the best fit for an option in its pool.  On one node: the one with fewest free slots that
 * suffice.  On several: the cheapest split, if there are nodes for its pieces; otherwise the nodes with most
 * free slots.  False if it does not fit.  *ret is valid until the next call. */
bool packing_find (struct packing *packing, int job, const struct priced_option *option,
                   struct placement *ret);

/* Give shares to a job that has none.  -ENOMEM. */
int packing_put (struct packing *packing, int job, const struct priced_option *option,
                 struct placement placement);

/* Take a job's shares back; it becomes undecided. */
void packing_take (struct packing *packing, int job);

/* Price of the piece that a job has on a node. */
cost packing_piece_price (const struct packing *packing, int job, int node);

/* How much more the pieces on a node could cost than they do: 0 on a node that is used well. */
cost packing_slack (const struct packing *packing, const struct option_lists *lists, int node);

/* Loss of the plan so far; undecided jobs count 0. */
cost packing_loss (const struct packing *packing);

#endif
