/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NAME_TABLE_H
#define CLUSTER_NAME_TABLE_H

/* Finds the index of an array element by its name.  The array only grows at its end; the names stay
 * in the array, where a function of the caller reads them. */
struct name_table {
    int *entries; /* indices into the array; -1: empty; at least half of them are */
    int size;     /* of entries: a power of two, or 0 */
    int count;    /* names in the table */
};

/* The name of the element at an index. */
typedef const char *name_table_of (const void *array, int index);

/* The index of a name, or -1. */
int name_table_find (const struct name_table *table, const char *name, name_table_of *of,
                     const void *array);

/* Make room for `count` names in all.  0 or -ENOMEM. */
int name_table_reserve (struct name_table *table, int count, name_table_of *of, const void *array);

/* Add element number `count` of the array.  Its name must be new, and room must be reserved. */
void name_table_add (struct name_table *table, name_table_of *of, const void *array);

void name_table_clear (struct name_table *table);

#endif
