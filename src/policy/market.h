/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of pieces of nodes at which demand meets supply: the dual of the packing problem. */
#ifndef POLICY_MARKET_H
#define POLICY_MARKET_H

#include "policy/menu.h"

/* How many nodes there are with so many free slots, open to jobs on several nodes or not. */
struct supply {
    int most;           /* slots of the largest node */
    int *open, *closed; /* [slots] */
};

/* What all nodes together hold at most. */
worth supply_room (const struct supply *supply, const struct tariff *tariff);

/* Find a tariff with a high bound, from a price per slot on, in so many rounds. -ENOMEM. */
int market_clear (const struct menus *menus, const struct supply *supply, double price, int rounds,
                  struct arena *arena, struct tariff *ret);

#endif
