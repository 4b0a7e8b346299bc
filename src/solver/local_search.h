/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_LOCAL_SEARCH_H
#define SOLVER_LOCAL_SEARCH_H

#include "solver/packing.h"

/* Improve a plan by re-solving groups of nodes, until its loss meets *bound or the steps are
 * used.  Raises *bound where the search proves that no plan loses less.  -ENOMEM. */
int local_search (struct option_lists *lists, struct packing *packing, uint64_t seed, int64_t work,
                  cost *bound);

#endif
