/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter per slot, in rows that are made when they are needed.
 */
#include "backend/seats.h"

#include <errno.h>
#include <stdlib.h>

/* The row of a node, made if it is missing; NULL: no memory. */
static struct seats_row *row (struct seats *seats, int node)
{
    if (node >= seats->count) {
        struct seats_row **rows = realloc (seats->rows, (size_t)(node + 1) * sizeof (rows[0]));
        if (!rows)
            return NULL;
        for (int i = seats->count; i <= node; i++)
            rows[i] = NULL;
        seats->rows = rows;
        seats->count = node + 1;
    }
    if (!seats->rows[node])
        seats->rows[node] = calloc (1, sizeof (struct seats_row));
    return seats->rows[node];
}

int seats_free (const struct seats *seats, int node, int slots)
{
    int count = 0;
    if (node >= seats->count || !seats->rows[node])
        return slots;
    for (int i = 0; i < slots; i++)
        count += seats->rows[node]->taken[i] == 0;
    return count;
}

int seats_take (struct seats *seats, int node, int slots)
{
    struct seats_row *taken = row (seats, node);
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

int seats_hold (struct seats *seats, int node, int slot)
{
    struct seats_row *taken = row (seats, node);
    if (!taken)
        return -ENOMEM;
    taken->taken[slot]++;
    return 0;
}

void seats_release (struct seats *seats, int node, int slot)
{
    if (node < seats->count && seats->rows[node] && seats->rows[node]->taken[slot] > 0)
        seats->rows[node]->taken[slot]--;
}

void seats_clear (struct seats *seats)
{
    for (int i = 0; i < seats->count; i++)
        free (seats->rows[i]);
    free (seats->rows);
    *seats = (struct seats){0};
}
