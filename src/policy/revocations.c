/* SPDX-License-Identifier: Apache-2.0 */
/* Expected revocations of the nodes of a job. */
#include "policy/revocations.h"

double revocations_in (const struct pool *pool, struct pollux_shape shape)
{
    if (!(pool->revocations_per_s > 0) || shape.replicas == 0)
        return 0;
    int nodes = 1;
    if (shape.nodes > 1) {
        int slots = pool->node_slots > 0 ? pool->node_slots : 1; /* 0: all are drained */
        nodes = (shape.replicas + slots - 1) / slots;
        nodes = nodes > 2 ? nodes : 2;
    }
    return nodes * pool->revocations_per_s;
}

double revocations_on (const struct view *view, struct placement placement)
{
    double sum = 0;
    for (int i = 0; i < placement.count; i++)
        sum += view->nodes[placement.shares[i].node].revocations_per_s;
    return sum;
}

double revocations_leave (double revocations_per_s, double delay_s)
{
    return revocations_per_s > 0 ? 1 / (1 + revocations_per_s * delay_s) : 1;
}
