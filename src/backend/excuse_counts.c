/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts in a list: few jobs have excuses at a time.
 */
#include "backend/excuse_counts.h"

#include <stdlib.h>

struct excuse_count *excuse_counts_find (const struct excuse_counts *counts, int job)
{
    for (int i = 0; i < counts->count; i++)
        if (counts->items[i].job == job)
            return &counts->items[i];
    return NULL;
}

struct excuse_count *excuse_counts_of (struct excuse_counts *counts, int job)
{
    struct excuse_count *found = excuse_counts_find (counts, job);
    if (found)
        return found;
    size_t size = (size_t)(counts->count + 1) * sizeof (struct excuse_count);
    struct excuse_count *items = realloc (counts->items, size);
    if (!items)
        return NULL;
    counts->items = items;
    items[counts->count] = (struct excuse_count){.job = job};
    return &items[counts->count++];
}

void excuse_counts_forget (struct excuse_counts *counts, int job)
{
    for (int i = 0; i < counts->count; i++)
        if (counts->items[i].job == job)
            counts->items[i--] = counts->items[--counts->count];
}

void excuse_counts_clear (struct excuse_counts *counts)
{
    free (counts->items);
    *counts = (struct excuse_counts){0};
}
