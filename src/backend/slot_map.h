/* SPDX-License-Identifier: Apache-2.0 */
/* Which slots of each node are taken. */
#ifndef BACKEND_SLOT_MAP_H
#define BACKEND_SLOT_MAP_H

#include "cluster/node.h"

struct slot_map {
    struct slot_map_row {
        unsigned short taken[SLOTS_LIMIT]; /* how often; above 1 only after nodes have changed */
    } * *rows;                             /* by node; NULL: all free */
    int count;
};

/* How many of a node's `slots` slots are free.  A node may have lost slots: taken ones count, whatever their number. */
int slot_map_free (const struct slot_map *slot_map, int node, int slots);

/* Take the lowest free slot of a node with `slots` slots: its number, -ENOSPC or -ENOMEM. */
int slot_map_take (struct slot_map *slot_map, int node, int slots);

/* Take this slot, free or not.  0 or -ENOMEM. */
int slot_map_hold (struct slot_map *slot_map, int node, int slot);

void slot_map_release (struct slot_map *slot_map, int node, int slot);
void slot_map_clear (struct slot_map *slot_map);

#endif
