/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POLICY_FILL_H
#define POLICY_FILL_H

#include "policy/packing.h"

/* Give every job the choice with least regret that still fits: pinned jobs first, then those that
 * want to stay, then the others by size descending; then hand out what is left.  -ENOMEM. */
int fill (const struct menus *menus, struct packing *packing);

/* Hand out free slots to whom they bring most.  -ENOMEM. */
int fill_rest (const struct menus *menus, struct packing *packing);

#endif
