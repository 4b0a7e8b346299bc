/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing hash table from names to indices.  Journals refer to jobs and nodes by name:
 * with it a journal is applied in time proportional to its length.
 */
#include "cluster/name_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The entry of a name: where its index is, or where it would be stored. */
static int *entry_of (const struct name_table *table, const char *name, name_table_of *of,
                      const void *array)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    uint32_t mask = (uint32_t)table->size - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        int index = table->entries[i];
        if (index < 0 || strcmp (of (array, index), name) == 0)
            return &table->entries[i];
    }
}

int name_table_find (const struct name_table *table, const char *name, name_table_of *of,
                     const void *array)
{
    return table->size > 0 ? *entry_of (table, name, of, array) : -1;
}

int name_table_reserve (struct name_table *table, int count, name_table_of *of, const void *array)
{
    if (2 * (int64_t)count <= table->size)
        return 0;
    int64_t size = table->size > 0 ? table->size : 64;
    while (size < 2 * (int64_t)count)
        size *= 2;
    if (size > INT32_MAX)
        return -ENOMEM;
    int *entries = malloc ((size_t)size * sizeof (entries[0]));
    if (!entries)
        return -ENOMEM;
    memset (entries, 0xff, (size_t)size * sizeof (entries[0])); /* all -1 */
    free (table->entries);
    table->entries = entries;
    table->size = (int)size;
    for (int i = 0; i < table->count; i++)
        *entry_of (table, of (array, i), of, array) = i;
    return 0;
}

void name_table_add (struct name_table *table, name_table_of *of, const void *array)
{
    *entry_of (table, of (array, table->count), of, array) = table->count;
    table->count++;
}

void name_table_clear (struct name_table *table)
{
    free (table->entries);
    *table = (struct name_table){0};
}
