/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_GREEDY_PACK_H
#define SOLVER_GREEDY_PACK_H

#include "solver/packing.h"

/* Complete a packing that holds the pinned jobs: give every other job an option that fits, with
 * small regret.  -ENOMEM. */
int greedy_pack (const struct option_lists *lists, struct packing *packing);

#endif
