/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pieces of nodes cost.  A price per slot alone does not see that three jobs of 3 replicas do
 * not fit on 8 slots; prices that differ by the size of the piece do.
 */
#ifndef POLICY_TARIFF_H
#define POLICY_TARIFF_H

#include "base/arena.h"
#include "cluster/placement.h"
#include "policy/worth.h"

/* All prices rise with the size.  Whatever fits on a node together costs at most what the node
 * holds: that is what makes them valid. */
struct tariff {
    int piece_most; /* the largest node */
    int many_most;
    worth *one;   /* [k]: k replicas on one node, 0..piece_most */
    worth *piece; /* [k]: k replicas of a job on several nodes, on one of these */
    worth *many;  /* [k]: k replicas of such a job, cut into two pieces or more as cheaply as
                   * possible, 0..many_most */
    int *cut;     /* [k]: the first of these pieces */
    worth *rest;  /* [k]: the same in any number of pieces, also one */
    int *rest_cut;
    worth *open;   /* [k]: what a node with k slots holds at most */
    worth *closed; /* [k]: the same if no job on several nodes may use it */
};

int tariff_make (int piece_most, int many_most, struct arena *arena, struct tariff *ret);

/* Work out what follows from one and piece: all the others. */
void tariff_derive (struct tariff *tariff);

/* A placement of a job. */
worth tariff_placement (const struct tariff *tariff, struct placement placement);

/* The same tariff in other memory of the same size. */
void tariff_copy (struct tariff *to, const struct tariff *from);

#endif
