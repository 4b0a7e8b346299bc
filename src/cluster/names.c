/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open hash from names to indices, so that a journal, which knows jobs and nodes by name, is
 * folded in time proportional to its length.
 */
#include "cluster/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The place of a name: where its index is, or where it would be put. */
static int *place (const struct names *names, const char *name, names_of *of, const void *array)
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

int names_find (const struct names *names, const char *name, names_of *of, const void *array)
{
    return names->size > 0 ? *place (names, name, of, array) : -1;
}

int names_reserve (struct names *names, int count, names_of *of, const void *array)
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

void names_add (struct names *names, names_of *of, const void *array)
{
    *place (names, of (array, names->count), of, array) = names->count;
    names->count++;
}

void names_clear (struct names *names)
{
    free (names->places);
    *names = (struct names){0};
}
