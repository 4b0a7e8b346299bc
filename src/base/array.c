/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capacity that doubles: each element is copied once on average.
 */
#include "base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

int array_append (void *array, int *count, int *capacity, const void *element, size_t size)
{
    void *list;
    memcpy (&list, array, sizeof (list)); /* a pointer to any type */
    list = array_grow (list, *count, capacity, size);
    if (!list)
        return -ENOMEM;
    memcpy (array, &list, sizeof (list));
    memcpy ((char *)list + (size_t)(*count)++ * size, element, size);
    return 0;
}

void *array_reserve_zeroed (void *array, int index, int *capacity, size_t size)
{
    if (index < *capacity)
        return array;
    if (index > INT_MAX / 2)
        return NULL;
    int wanted = 2 * (index > FIRST_CAPACITY ? index : FIRST_CAPACITY);
    void *grown = realloc (array, (size_t)wanted * size);
    if (!grown)
        return NULL;
    memset ((char *)grown + (size_t)*capacity * size, 0, (size_t)(wanted - *capacity) * size);
    *capacity = wanted;
    return grown;
}
