/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Find the name that was probably meant by a mistyped word.
 *
 *     struct nearest nearest = nearest_start (word, strlen (word));
 *     nearest_try (&nearest, name);                             for each name
 *     nearest.best                                              NULL if none is near
 */
struct nearest {
    const char *word;
    size_t length;
    const char *best;
    size_t distance; /* of word and best; without a best, the smallest distance that is too large */
};

struct nearest nearest_start (const char *word, size_t length);
void nearest_try (struct nearest *nearest, const char *name);

#endif
