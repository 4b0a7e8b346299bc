/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements by names: {"n0": 4, "n3": 2}, in the order in which ranks are laid out.
 */
#ifndef WIRE_PLACEMENT_H
#define WIRE_PLACEMENT_H

#include "cluster/cluster.h"
#include "wire/json.h"

/* Memory for a placement, used again and again. */
struct wire_shares {
    struct share *shares;
    int capacity;
};

/* On success *ret borrows from memory until that is used again. */
int wire_placement_decode (const struct wire_place *object, const struct cluster *cluster,
                           struct wire_shares *memory, struct placement *ret,
                           struct pollux_error *err);

/* {"n0": 4, "n3": 2}, the caller's (json_decref).  NULL: not enough memory. */
json_t *wire_placement_encode (const struct cluster *cluster, struct placement placement);

/* The same under a key of an object, after a look at it: -EINVAL for what decoding would refuse. */
int wire_placement_put (const struct cluster *cluster, struct placement placement, json_t *object,
                        const char *key, struct pollux_error *err);

#endif
