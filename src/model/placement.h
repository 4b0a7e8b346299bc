/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PLACEMENT_H
#define MODEL_PLACEMENT_H

#include <stdbool.h>

#include "pollux/pollux.h"

/* Replicas of a job on one node, which is given by its index. */
struct share {
    int node, replicas;
};

/* Where a job runs: shares with replicas > 0, at most one per node, in the order of the ranks.  No
 * shares: the job does not run.  Borrowed: a job or a plan holds the memory. */
struct placement {
    const struct share *shares;
    int count;
};

/* Replicas on all nodes. */
int placement_replicas (struct placement placement);

/* Its replicas on one node. */
int placement_on (struct placement placement, int node);

/* Numbers of nodes and replicas, for the goodput model. */
struct pollux_shape placement_shape (struct placement placement);

/* Same shares in the same order: no rank moves, so the job need not restart. */
bool placement_equal (struct placement a, struct placement b);

/* Same shares in any order. */
bool placement_same (struct placement a, struct placement b);

#endif
