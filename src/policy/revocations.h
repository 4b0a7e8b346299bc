/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that the provider may take back, and what that costs a job.  Every revocation of one of its nodes restarts the
 * job.  The nodes are announced before they go, so that it saves its state first and loses the restart delay:
 *
 *     expected goodput = goodput / (1 + n r d)
 *
 * with n its nodes, r the expected revocations of a node (1/s) and d its restart delay (s): it trains for 1 / (n r) and
 * then stands still for d.  n, r, d >= 0.
 */
#ifndef POLICY_REVOCATIONS_H
#define POLICY_REVOCATIONS_H

#include "cluster/pools.h"
#include "cluster/view.h"

/* The expected revocations per second of a job on a shape of a pool.  A shape says whether it has one node or several;
 * of several the fewest that have enough slots count. */
double revocations_in (const struct pool *pool, struct pollux_shape shape);

/* The same on the nodes of a placement. */
double revocations_on (const struct view *view, struct placement placement);

/* The part of its goodput that a job keeps, in (0, 1]. */
double revocations_leave (double revocations_per_s, double delay_s);

#endif
