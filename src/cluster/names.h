/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_NAMES_H
#define CLUSTER_NAMES_H

/* Where the thing of a name is in an array that grows at its end: an open hash of indices.  The
 * names themselves stay in the array; a function of its owner's reads them there. */
struct names {
    int *places; /* indices, -1 where empty; a power of two of them, at least half empty */
    int size;
    int count;
};

/* The name of the thing at an index. */
typedef const char *names_of (const void *array, int index);

/* Its index, or -1. */
int names_find (const struct names *names, const char *name, names_of *of, const void *array);

/* Room for so many names.  0 or -ENOMEM. */
int names_reserve (struct names *names, int count, names_of *of, const void *array);

/* The array has one thing more, whose name is new; room was reserved. */
void names_add (struct names *names, names_of *of, const void *array);

void names_clear (struct names *names);

#endif
