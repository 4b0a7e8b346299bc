/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements by names of nodes: {"n0": 4, "n3": 2}, in the order of the ranks.
 */
#ifndef WIRE_PLACEMENT_H
#define WIRE_PLACEMENT_H

#include "cluster/cluster.h"
#include "wire/json.h"

/* Memory for a placement.  Starts zeroed; is reused. */
struct wire_shares {
    struct share *shares;
    int capacity;
};

/* Decode a placement.  *ret borrows from memory until the next call with it. */
int wire_placement_decode (const struct wire_place *object, const struct cluster *cluster,
                           struct wire_shares *memory, struct placement *ret,
                           struct pollux_error *err);

/* Encode a placement; the caller owns the result (json_decref).  NULL: no memory. */
json_t *wire_placement_encode (const struct cluster *cluster, struct placement placement);

/* Check a placement and add it to an object.  -EINVAL for one that decoding would refuse. */
int wire_placement_put (const struct cluster *cluster, struct placement placement, json_t *object,
                        const char *key, struct pollux_error *err);

#endif
