/* SPDX-License-Identifier: Apache-2.0 */
/* Which slots of which nodes are taken, by number. */
#ifndef BACKEND_SLOT_MAP_H
#define BACKEND_SLOT_MAP_H

#include "cluster/node.h"

struct slot_map {
    struct slot_map_row {
        unsigned short
            taken[SLOTS_LIMIT]; /* how often; more than once only after a change of nodes */
    } * *rows;                  /* by node; NULL: all free */
    int count;
};

/* How many of the first `slots` slots of a node are free. */
int slot_map_free (const struct slot_map *slot_map, int node, int slots);

/* Take the lowest free slot of a node of so many.  Its number, or -ENOSPC or -ENOMEM. */
int slot_map_take (struct slot_map *slot_map, int node, int slots);

/* Take exactly this one, free or not.  0 or -ENOMEM. */
int slot_map_hold (struct slot_map *slot_map, int node, int slot);

void slot_map_release (struct slot_map *slot_map, int node, int slot);
void slot_map_clear (struct slot_map *slot_map);

#endif
