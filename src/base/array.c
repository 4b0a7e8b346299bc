/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capacity that doubles: each element is copied once on average.
 */
#include "base/array.h"

#include <limits.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_grow (void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    if (*capacity > INT_MAX / 2)
        return NULL;
    int wanted = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *grown = realloc (array, (size_t)wanted * size);
    if (grown)
        *capacity = wanted;
    return grown;
}
