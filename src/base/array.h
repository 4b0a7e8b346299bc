/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Make room for one more element of that size.  Returns the array, which has moved if it had no
 * room; the caller keeps it in place of the old one.  NULL: no memory, and nothing has changed. */
void *array_grow (void *array, int count, int *capacity, size_t size);

/* Append a copy of an element of that size.  array is the address of the pointer to the array, which may move.
 * 0; -ENOMEM: nothing has changed. */
int array_append (void *array, int *count, int *capacity, const void *element, size_t size);

/* Make room for an element of that size at an index; new elements are zero.  Returns the array as
 * array_grow does. */
void *array_reserve_zeroed (void *array, int index, int *capacity, size_t size);

#endif
