/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Which of several names somebody meant who typed another word.
 *
 *     struct nearest nearest = nearest_start (word, strlen (word));
 *     nearest_try (&nearest, name);                             for each name
 *     nearest.best                                              NULL if none is near
 */
struct nearest {
    const char *word;
    size_t length;
    const char *best;
    size_t distance; /* mistakes between word and best; before there is one, too many */
};

struct nearest nearest_start (const char *word, size_t length);
void nearest_try (struct nearest *nearest, const char *name);

#endif
