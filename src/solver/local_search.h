/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_LOCAL_SEARCH_H
#define SOLVER_LOCAL_SEARCH_H

#include "solver/packing.h"

/* Improve a plan by re-solving subproblems, until its loss equals *bound or `work` steps are used.
 * Raises *bound if the search proves a higher lower bound of the loss.  -ENOMEM. */
int local_search (struct option_lists *lists, struct packing *packing, uint64_t seed, int64_t work,
                  cost *bound);

#endif
