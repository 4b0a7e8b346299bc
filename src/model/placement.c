/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements as values: counting and comparing them.
 */
#include "model/placement.h"

int placement_replicas (struct placement placement)
{
    int replicas = 0;
    for (int i = 0; i < placement.count; i++)
        replicas += placement.shares[i].replicas;
    return replicas;
}

int placement_on (struct placement placement, int node)
{
    int replicas = 0;
    for (int i = 0; i < placement.count; i++)
        if (placement.shares[i].node == node)
            replicas += placement.shares[i].replicas;
    return replicas;
}

struct pollux_shape placement_shape (struct placement placement)
{
    return (struct pollux_shape){.nodes = placement.count,
                                 .replicas = placement_replicas (placement)};
}

bool placement_equal (struct placement a, struct placement b)
{
    if (a.count != b.count)
        return false;
    for (int i = 0; i < a.count; i++)
        if (a.shares[i].node != b.shares[i].node || a.shares[i].replicas != b.shares[i].replicas)
            return false;
    return true;
}

/* A node has one share at most, so with equal counts one direction suffices.  Usually the order is
 * the same, too, and the inner loop ends at once. */
bool placement_same (struct placement a, struct placement b)
{
    if (a.count != b.count)
        return false;
    for (int i = 0; i < a.count; i++) {
        int j = i, tried = 0;
        for (; tried < b.count && a.shares[i].node != b.shares[j].node; tried++)
            j = j + 1 < b.count ? j + 1 : 0;
        if (tried == b.count || a.shares[i].replicas != b.shares[j].replicas)
            return false;
    }
    return true;
}
