/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of pieces from the Lagrangian dual of the packing problem. */
#ifndef SOLVER_DUAL_H
#define SOLVER_DUAL_H

#include "solver/priced_options.h"

/* Numbers of nodes of a pool by the slots that pinned jobs leave; a closed node has a pinned job that
 * runs on several nodes, so that no other such job may use it. */
struct supply {
    int most;           /* slots of the largest node */
    int *open, *closed; /* [slots] */
};

/* The most that the pieces on all nodes can cost; all arrays by pool. */
cost supply_price (const struct supply *supplies, const struct piece_prices *prices,
                   int pool_count);

/* Search for prices with a high lower bound of the loss, starting from a price per slot, in at most
 * `rounds` rounds; all arrays by pool.  -ENOMEM. */
int dual_ascend (const struct option_lists *lists, const struct supply *supplies, int pool_count,
                 const double *slot_prices, int rounds, struct arena *arena,
                 struct piece_prices *ret);

#endif
