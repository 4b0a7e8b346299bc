/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POLICY_IMPROVE_H
#define POLICY_IMPROVE_H

#include "policy/packing.h"

/* Improve a plan by re-solving groups of nodes, until its loss meets *bound or the steps are
 * used.  Raises *bound where the search proves that no plan loses less.  -ENOMEM. */
int improve (struct menus *menus, struct packing *packing, uint64_t seed, int64_t work,
             worth *bound);

#endif
