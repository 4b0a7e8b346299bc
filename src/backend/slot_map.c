/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter per slot, in one row per node that is allocated when it is first used.
 */
#include "backend/slot_map.h"

#include <errno.h>
#include <stdlib.h>

/* The row of a node, allocated if it is missing; NULL: no memory. */
static struct slot_map_row *row (struct slot_map *slot_map, int node)
{
    if (node >= slot_map->count) {
        struct slot_map_row **rows =
            realloc (slot_map->rows, (size_t)(node + 1) * sizeof (rows[0]));
        if (!rows)
            return NULL;
        for (int i = slot_map->count; i <= node; i++)
            rows[i] = NULL;
        slot_map->rows = rows;
        slot_map->count = node + 1;
    }
    if (!slot_map->rows[node])
        slot_map->rows[node] = calloc (1, sizeof (struct slot_map_row));
    return slot_map->rows[node];
}

int slot_map_free (const struct slot_map *slot_map, int node, int slots)
{
    int taken = 0;
    if (node >= slot_map->count || !slot_map->rows[node])
        return slots;
    for (int i = 0; i < SLOTS_LIMIT; i++)
        taken += slot_map->rows[node]->taken[i] > 0;
    return slots > taken ? slots - taken : 0;
}

int slot_map_take (struct slot_map *slot_map, int node, int slots)
{
    struct slot_map_row *taken = row (slot_map, node);
    if (!taken)
        return -ENOMEM;
    for (int i = 0; i < slots; i++) {
        if (taken->taken[i] == 0) {
            taken->taken[i] = 1;
            return i;
        }
    }
    return -ENOSPC;
}

int slot_map_hold (struct slot_map *slot_map, int node, int slot)
{
    struct slot_map_row *taken = row (slot_map, node);
    if (!taken)
        return -ENOMEM;
    taken->taken[slot]++;
    return 0;
}

void slot_map_release (struct slot_map *slot_map, int node, int slot)
{
    if (node < slot_map->count && slot_map->rows[node] && slot_map->rows[node]->taken[slot] > 0)
        slot_map->rows[node]->taken[slot]--;
}

void slot_map_clear (struct slot_map *slot_map)
{
    for (int i = 0; i < slot_map->count; i++)
        free (slot_map->rows[i]);
    free (slot_map->rows);
    *slot_map = (struct slot_map){0};
}
