/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PLACEMENT_H
#define MODEL_PLACEMENT_H

#include <stdbool.h>

#include "pollux/pollux.h"

/* So many replicas on the node of that index. */
struct share {
    int node, replicas;
};

/* Where a job runs: the shares, replicas > 0 each, at most one per node, in the order in which
 * ranks are laid out.  No shares: the job does not run.  A borrowed slice; some owner (a job, a
 * plan) holds the memory. */
struct placement {
    const struct share *shares;
    int count;
};

/* Replicas in all. */
int placement_replicas (struct placement placement);

/* What the goodput model needs of it; {0, 0} for none. */
struct pollux_shape placement_shape (struct placement placement);

/* Same shares in the same order: ranks would not move, so nothing needs to restart. */
bool placement_equal (struct placement a, struct placement b);

/* Same shares in any order. */
bool placement_same (struct placement a, struct placement b);

#endif
