/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prices of pieces of nodes.  A piece is what one job has on one node.  One price per slot ignores
 * that three jobs of 3 replicas do not fit on 8 slots; prices by the size of the piece do not.
 */
#ifndef SOLVER_PIECE_PRICES_H
#define SOLVER_PIECE_PRICES_H

#include "base/arena.h"
#include "model/placement.h"
#include "solver/cost.h"

/* All prices rise with the size.  Valid prices: the pieces that fit on a node together cost at most
 * open or closed of that node. */
struct piece_prices {
    int piece_most; /* slots of the largest node */
    int many_most;  /* largest number of replicas of a job */
    /* By replicas k, 0..piece_most: */
    cost *one;    /* k replicas of a job on one node */
    cost *piece;  /* k replicas on one of the nodes of a job on several */
    cost *open;   /* the most that pieces on a node with k slots can cost */
    cost *closed; /* the same without pieces of jobs on several nodes */
    /* By replicas k, 0..many_most: */
    cost *many;      /* the cheapest split of k replicas into two pieces or more */
    int *many_piece; /* its first piece; the others follow by rest_piece */
    cost *rest;      /* the cheapest split of k replicas into one piece or more */
    int *rest_piece; /* its first piece */
};

/* Allocate, without prices.  -ENOMEM. */
int piece_prices_make (int piece_most, int many_most, struct arena *arena,
                       struct piece_prices *ret);

/* Compute all other arrays from one and piece. */
void piece_prices_derive (struct piece_prices *prices);

/* Price of a placement of a job. */
cost piece_prices_placement (const struct piece_prices *prices, struct placement placement);

/* Copy between prices made with the same sizes. */
void piece_prices_copy (struct piece_prices *to, const struct piece_prices *from);

#endif
