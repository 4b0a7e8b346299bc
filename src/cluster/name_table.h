/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NAME_TABLE_H
#define CLUSTER_NAME_TABLE_H

/* Where the thing of a name is in an array that grows at its end: an open hash of indices.  The
 * names themselves stay in the array; a function of its owner's reads them there. */
struct name_table {
    int *places; /* indices, -1 where empty; a power of two of them, at least half empty */
    int size;
    int count;
};

/* The name of the thing at an index. */
typedef const char *name_table_of (const void *array, int index);

/* Its index, or -1. */
int name_table_find (const struct name_table *names, const char *name, name_table_of *of,
                     const void *array);

/* Room for so many names.  0 or -ENOMEM. */
int name_table_reserve (struct name_table *names, int count, name_table_of *of, const void *array);

/* The array has one thing more, whose name is new; room was reserved. */
void name_table_add (struct name_table *names, name_table_of *of, const void *array);

void name_table_clear (struct name_table *names);

#endif
