/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode placements by names of nodes.  jansson keeps the order of an object's fields.
 */
#include "wire/placement.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "wire/member.h"

static int reserve (struct wire_shares *memory, size_t count, struct pollux_error *err)
{
    if (count <= (size_t)memory->capacity)
        return 0;
    struct share *shares = realloc (memory->shares, count * sizeof (shares[0]));
    if (!shares)
        return fail (err, -ENOMEM, "no memory for a placement on %zu nodes", count);
    memory->shares = shares;
    memory->capacity = (int)count;
    return 0;
}

int wire_placement_decode (const struct wire_place *object, const struct cluster *cluster,
                           struct wire_shares *memory, struct placement *ret,
                           struct pollux_error *err)
{
    int code = wire_expect_object (object, err);
    size_t size = json_object_size (object->value);
    if (code == 0 && size > (size_t)cluster->node_count)
        code = wire_fail (object, err, "expected at most all %d nodes", cluster->node_count);
    if (code == 0)
        code = reserve (memory, size, err);
    int count = 0;
    struct wire_place place;
    for (void *at = NULL; code == 0 && wire_each (object, &at, &place);) {
        int node = cluster_find_node (cluster, place.key);
        int64_t replicas = 0;
        if (node < 0)
            code = wire_fail (&place, err, "expected a node that is known");
        else
            code = wire_int64 (object, place.key, 1, SLOTS_LIMIT, &replicas, err);
        if (code == 0)
            memory->shares[count++] = (struct share){.node = node, .replicas = (int)replicas};
    }
    if (code == 0)
        *ret = (struct placement){.shares = memory->shares, .count = count};
    return code;
}

json_t *wire_placement_encode (const struct cluster *cluster, struct placement placement)
{
    json_t *object = json_object ();
    for (int i = 0; object && i < placement.count; i++)
        if (json_object_set_new (object, cluster->nodes[placement.shares[i].node].name,
                                 json_integer (placement.shares[i].replicas)) < 0) {
            json_decref (object);
            return NULL;
        }
    return object;
}

int wire_placement_put (const struct cluster *cluster, struct placement placement, json_t *object,
                        const char *key, struct pollux_error *err)
{
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        if (share.node < 0 || share.node >= cluster->node_count || share.replicas < 1 ||
            share.replicas > SLOTS_LIMIT)
            return fail (err, -EINVAL, "%s: %d replicas on node %d, of %d nodes", key,
                         share.replicas, share.node, cluster->node_count);
    }
    json_t *shares = wire_placement_encode (cluster, placement);
    int code = wire_put (object, key, shares, err);
    if (code == 0 && json_object_size (shares) != (size_t)placement.count)
        code = fail (err, -EINVAL, "%s: two shares on one node", key);
    return code;
}
