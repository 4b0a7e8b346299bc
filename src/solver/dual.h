/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of pieces of nodes at which demand meets supply: the dual of the packing problem. */
#ifndef SOLVER_DUAL_H
#define SOLVER_DUAL_H

#include "solver/priced_options.h"

/* How many nodes there are with so many free slots, open to jobs on several nodes or not. */
struct supply {
    int most;           /* slots of the largest node */
    int *open, *closed; /* [slots] */
};

/* What all nodes together hold at most. */
cost supply_room (const struct supply *supply, const struct piece_prices *prices);

/* Find a tariff with a high bound, from a price per slot on, in so many rounds. -ENOMEM. */
int dual_ascend (const struct option_lists *lists, const struct supply *supply, double price,
                 int rounds, struct arena *arena, struct piece_prices *ret);

#endif
