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

struct group;

/* Scratch for groups.  NULL if there is no memory. */
struct group *group_new (const struct menus *menus, struct packing *packing);

/* Choose nodes and jobs: begin, then add.  A node or job that is there, or for which there is no
 * room, is not added.  Jobs are those that are free to move: undecided, without slots, or wholly
 * on the nodes of the group. */
void group_begin (struct group *group);
bool group_add_node (struct group *group, int node);
bool group_add_job (struct group *group, int job);

/* No way to place the group's jobs on its nodes loses less: the knapsack's optimum.  The jobs'
 * own slots count as free. */
worth group_bound (struct group *group);

/* Re-solve: try placements of the group's jobs, at most *steps of them, and put the best into the
 * packing if it loses less than what is there.  Subtracts the steps used.  Returns by how much
 * the loss fell, 0 if it did not, negative errno values never: -1 if there is no memory. */
worth group_solve (struct group *group, int64_t *steps);

#endif
