/* SPDX-License-Identifier: Apache-2.0 */
/* The small exact problem: some nodes, and the jobs that are on them alone. */
#ifndef POLICY_GROUP_H
#define POLICY_GROUP_H

#include "policy/packing.h"

enum {
    GROUP_NODES = 64,
    GROUP_JOBS = 64,
    GROUP_TABLE = 1 << 16, /* entries of the bound's table, (jobs + 1) x (slots + 1) */
};

/* What has been decided for one job: a choice, and its shares (nodes by their place in the
 * group). */
struct trial {
    const struct choice *choice;
    int count;
    struct share shares[GROUP_NODES];
};

/* Nodes, and jobs that are free to move: undecided, without slots, or wholly on these nodes. */
struct group {
    const struct menus *menus;
    struct packing *packing;
    int *member; /* by job: the serial number of the last group that it was in */
    int serial;
    int nodes[GROUP_NODES];
    int node_count;
    int jobs[GROUP_JOBS];
    int job_count;

    /* Filled in by group_prepare. */
    int free[GROUP_NODES]; /* with the jobs' own slots */
    bool owned[GROUP_NODES];
    bool marked[GROUP_NODES]; /* a current placement is here: the node is like no other */
    int slots;                /* free, in all */
    int stayers;              /* so many jobs, the first, could keep their placement */
    int usable[GROUP_JOBS];   /* how many of a job's choices could be part of anything better */
    worth start;              /* what the jobs lose now */
    worth most;               /* what can be gained at most */
    worth rest[GROUP_TABLE];  /* [i][s]: the least that jobs i.. lose with s slots together */

    /* Of the search. */
    worth best;
    bool found, exhaustive;
    int64_t steps;
    int deferred[GROUP_JOBS]; /* jobs whose choice is made and whose place is not */
    int deferred_count;
    struct trial now[GROUP_JOBS], kept[GROUP_JOBS];
};

/* Scratch for groups.  NULL if there is no memory. */
struct group *group_new (const struct menus *menus, struct packing *packing);

/* Choose nodes and jobs: begin, then add.  A node or job that is there, or for which there is no
 * room, is not added: false. */
void group_begin (struct group *group);
bool group_add_node (struct group *group, int node);
bool group_add_job (struct group *group, int job);

/* No way to place the group's jobs on its nodes loses less: the knapsack's optimum. */
worth group_bound (struct group *group);

/* Re-solve: try plans for the group, with at most *steps of work, and put the best into the
 * packing if it loses less than what is there.  Subtracts the work done.  Returns by how much
 * the loss fell, 0 if it did not, -1 if there is no memory. */
worth group_solve (struct group *group, int64_t *steps);

/* The search itself (branch.c): find plans in group->kept with less loss than group->best. */
void group_branch (struct group *group);

/* A row of the table. */
static inline worth *group_rest (struct group *group, int job)
{
    return &group->rest[(size_t)job * (size_t)(group->slots + 1)];
}

#endif
