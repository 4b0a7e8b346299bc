/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pieces of nodes cost.  A price per slot alone does not see that three jobs of 3 replicas do
 * not fit on 8 slots; prices that differ by the size of the piece do.
 */
#ifndef SOLVER_PIECE_PRICES_H
#define SOLVER_PIECE_PRICES_H

#include "base/arena.h"
#include "model/placement.h"
#include "solver/cost.h"

/* All prices rise with the size.  Whatever fits on a node together costs at most what the node
 * holds: that is what makes them valid. */
struct piece_prices {
    int piece_most; /* the largest node */
    int many_most;
    cost *one;   /* [k]: k replicas on one node, 0..piece_most */
    cost *piece; /* [k]: k replicas of a job on several nodes, on one of these */
    cost *many;  /* [k]: k replicas of such a job, cut into two pieces or more as cheaply as
                   * possible, 0..many_most */
    int *cut;    /* [k]: the first of these pieces */
    cost *rest;  /* [k]: the same in any number of pieces, also one */
    int *rest_cut;
    cost *open;   /* [k]: what a node with k slots holds at most */
    cost *closed; /* [k]: the same if no job on several nodes may use it */
};

int piece_prices_make (int piece_most, int many_most, struct arena *arena,
                       struct piece_prices *ret);

/* Work out what follows from one and piece: all the others. */
void piece_prices_derive (struct piece_prices *prices);

/* A placement of a job. */
cost piece_prices_placement (const struct piece_prices *prices, struct placement placement);

/* The same tariff in other memory of the same size. */
void piece_prices_copy (struct piece_prices *to, const struct piece_prices *from);

#endif
