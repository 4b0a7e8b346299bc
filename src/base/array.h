/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Make room for one more element of that size.  Returns the array, which has moved if it had no room; the
 * caller keeps it in place of the old one.  NULL: no memory, and nothing has changed. */
void *array_grow (void *array, int count, int *capacity, size_t size);

#endif
