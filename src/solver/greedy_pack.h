/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_GREEDY_PACK_H
#define SOLVER_GREEDY_PACK_H

#include "solver/packing.h"

/* Give every job the option with least regret that still fits: pinned jobs first, then those that
 * want to stay, then the others by size descending; then hand out what is left.  -ENOMEM. */
int greedy_pack (const struct option_lists *lists, struct packing *packing);

/* Hand out free slots to whom they bring most.  -ENOMEM. */
int greedy_pack_rest (const struct option_lists *lists, struct packing *packing);

#endif
