/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small part of the problem that is solved nearly exactly: a few nodes, and jobs that have slots
 * on these nodes alone, or none.  subproblem.c prepares it, branch_and_bound.c searches.
 */
#ifndef SOLVER_SUBPROBLEM_H
#define SOLVER_SUBPROBLEM_H

#include "solver/packing.h"

enum {
    SUBPROBLEM_NODES = 64,
    SUBPROBLEM_JOBS = 64,
    SUBPROBLEM_TABLE = 1 << 16, /* entries of all knapsack tables, (jobs + 1) x (slots + 1) each */
};

/* What a job is given; the nodes of the shares are indices in the subproblem. */
struct assignment {
    const struct priced_option *option;
    int count;
    struct share shares[SUBPROBLEM_NODES];
};

/* The knapsack that counts the slots of one pool exactly; those of the other pools have a price alone. */
struct knapsack {
    cost price; /* of a slot */
    int slots;  /* free, on the pool's nodes */
    int left;   /* of these, in the search: not used by the chosen options */
    cost *rest; /* [i][s]: least loss of the jobs i.. with s slots together, plus the price of these
                   s slots and of those that the jobs use in other pools; COST_MOST: there is none */
};

struct subproblem {
    const struct option_lists *lists;
    struct packing *packing;
    int serial;  /* of this subproblem */
    int *member; /* by job: serial of the last subproblem that it was in */
    int nodes[SUBPROBLEM_NODES];
    int node_count;
    int jobs[SUBPROBLEM_JOBS];
    int job_count;

    /* Prepared before the search. */
    int pool[SUBPROBLEM_NODES];
    int free[SUBPROBLEM_NODES];   /* slots, with those of the jobs */
    bool multi[SUBPROBLEM_NODES]; /* a job on several nodes uses the node */
    bool
        special[SUBPROBLEM_NODES]; /* it has a job's current placement: no other node is the same */
    int slots;                     /* free, on all nodes */
    int keep_count;                /* the first jobs, which may be able to keep their placement */
    int usable[SUBPROBLEM_JOBS];   /* by job: options that a better plan may use */
    cost start;                    /* loss of the jobs before the search */
    cost gain_most;                /* upper bound of the gain */
    struct knapsack *knapsacks;    /* by pool */
    cost rest[SUBPROBLEM_TABLE];   /* memory of the knapsacks */

    /* The search. */
    cost best; /* loss of the incumbent, or start */
    bool found, exhaustive;
    int64_t steps;                 /* left */
    int deferred[SUBPROBLEM_JOBS]; /* jobs with an option and without a place */
    int deferred_count;
    struct assignment now[SUBPROBLEM_JOBS], incumbent[SUBPROBLEM_JOBS];
};

/* Scratch memory for one subproblem at a time.  NULL: no memory. */
struct subproblem *subproblem_new (const struct option_lists *lists, struct packing *packing);

/* Begin an empty subproblem. */
void subproblem_begin (struct subproblem *subproblem);

/* False, and nothing is added, if there is no room or it is in the subproblem already. */
bool subproblem_add_node (struct subproblem *subproblem, int node);
bool subproblem_add_job (struct subproblem *subproblem, int job);

/* Lower bound of the jobs' loss on these nodes: by the knapsack, which ignores nodes. */
cost subproblem_bound (struct subproblem *subproblem);

/* Search for a better plan with at most *steps steps, and put it into the packing.  Subtracts the
 * steps used.  Returns the gain, 0 if there is none, -1: no memory. */
cost subproblem_solve (struct subproblem *subproblem, int64_t *steps);

/* branch_and_bound.c: find an incumbent with less loss than subproblem->best. */
void subproblem_branch (struct subproblem *subproblem);

/* The price of the slots that are left in all pools. */
cost subproblem_free_price (const struct subproblem *subproblem);

/* Lower bound of the loss of the jobs i.. plus the price of the slots that are left in all pools;
 * COST_MOST: these slots do not suffice. */
static inline cost subproblem_rest (const struct subproblem *subproblem, int i)
{
    cost most = -COST_MOST;
    for (int pool = 0; pool < subproblem->packing->pool_count; pool++) {
        const struct knapsack *knapsack = &subproblem->knapsacks[pool];
        cost rest = knapsack->rest[i * (knapsack->slots + 1) + knapsack->left];
        most = rest > most ? rest : most;
    }
    return most;
}

#endif
