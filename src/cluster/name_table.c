/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open hash from names to indices, so that a journal, which knows jobs and nodes by name, is
 * folded in time proportional to its length.
 */
#include "cluster/name_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The place of a name: where its index is, or where it would be put. */
static int *place (const struct name_table *names, const char *name, name_table_of *of,
                   const void *array)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    uint32_t mask = (uint32_t)names->size - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        int index = names->places[i];
        if (index < 0 || strcmp (of (array, index), name) == 0)
            return &names->places[i];
    }
}

int name_table_find (const struct name_table *names, const char *name, name_table_of *of,
                     const void *array)
{
    return names->size > 0 ? *place (names, name, of, array) : -1;
}

int name_table_reserve (struct name_table *names, int count, name_table_of *of, const void *array)
{
    if (2 * (int64_t)count <= names->size)
        return 0;
    int64_t size = names->size > 0 ? names->size : 64;
    while (size < 2 * (int64_t)count)
        size *= 2;
    if (size > INT32_MAX)
        return -ENOMEM;
    int *places = malloc ((size_t)size * sizeof (places[0]));
    if (!places)
        return -ENOMEM;
    memset (places, 0xff, (size_t)size * sizeof (places[0])); /* all -1 */
    free (names->places);
    names->places = places;
    names->size = (int)size;
    for (int i = 0; i < names->count; i++)
        *place (names, of (array, i), of, array) = i;
    return 0;
}

void name_table_add (struct name_table *names, name_table_of *of, const void *array)
{
    *place (names, of (array, names->count), of, array) = names->count;
    names->count++;
}

void name_table_clear (struct name_table *names)
{
    free (names->places);
    *names = (struct name_table){0};
}
