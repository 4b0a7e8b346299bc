/* SPDX-License-Identifier: Apache-2.0 */
/* The small exact problem: some nodes, and the jobs that are on them alone. */
#ifndef SOLVER_SUBPROBLEM_H
#define SOLVER_SUBPROBLEM_H

#include "solver/packing.h"

enum {
    SUBPROBLEM_NODES = 64,
    SUBPROBLEM_JOBS = 64,
    SUBPROBLEM_TABLE = 1 << 16, /* entries of the bound's table, (jobs + 1) x (slots + 1) */
};

/* What has been decided for one job: a option, and its shares (nodes by their place in the
 * group). */
struct trial {
    const struct priced_option *option;
    int count;
    struct share shares[SUBPROBLEM_NODES];
};

/* Nodes, and jobs that are free to move: undecided, without slots, or wholly on these nodes. */
struct subproblem {
    const struct option_lists *lists;
    struct packing *packing;
    int *member; /* by job: the serial number of the last group that it was in */
    int serial;
    int nodes[SUBPROBLEM_NODES];
    int node_count;
    int jobs[SUBPROBLEM_JOBS];
    int job_count;

    /* Filled in by group_prepare. */
    int free[SUBPROBLEM_NODES]; /* with the jobs' own slots */
    bool owned[SUBPROBLEM_NODES];
    bool marked[SUBPROBLEM_NODES]; /* a current placement is here: the node is like no other */
    int slots;                     /* free, in all */
    int stayers;                   /* so many jobs, the first, could keep their placement */
    int usable[SUBPROBLEM_JOBS]; /* how many of a job's options could be part of anything better */
    cost start;                  /* what the jobs lose now */
    cost most;                   /* what can be gained at most */
    cost rest[SUBPROBLEM_TABLE]; /* [i][s]: the least that jobs i.. lose with s slots together */

    /* Of the search. */
    cost best;
    bool found, exhaustive;
    int64_t steps;
    int deferred[SUBPROBLEM_JOBS]; /* jobs whose option is made and whose place is not */
    int deferred_count;
    struct trial now[SUBPROBLEM_JOBS], kept[SUBPROBLEM_JOBS];
};

/* Scratch for groups.  NULL if there is no memory. */
struct subproblem *subproblem_new (const struct option_lists *lists, struct packing *packing);

/* Choose nodes and jobs: begin, then add.  A node or job that is there, or for which there is no
 * room, is not added: false. */
void subproblem_begin (struct subproblem *subproblem);
bool subproblem_add_node (struct subproblem *subproblem, int node);
bool subproblem_add_job (struct subproblem *subproblem, int job);

/* No way to place the group's jobs on its nodes loses less: the knapsack's optimum. */
cost subproblem_bound (struct subproblem *subproblem);

/* Re-solve: try plans for the group, with at most *steps of work, and put the best into the
 * packing if it loses less than what is there.  Subtracts the work done.  Returns by how much
 * the loss fell, 0 if it did not, -1 if there is no memory. */
cost subproblem_solve (struct subproblem *subproblem, int64_t *steps);

/* The search itself (branch.c): find plans in group->kept with less loss than group->best. */
void subproblem_branch (struct subproblem *subproblem);

/* A row of the table. */
static inline cost *subproblem_rest (struct subproblem *subproblem, int job)
{
    return &subproblem->rest[(size_t)job * (size_t)(subproblem->slots + 1)];
}

#endif
