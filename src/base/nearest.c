/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest name by the restricted Damerau-Levenshtein distance (letters added, removed, changed or
 * swapped with a neighbour), which must not exceed a third of the word.
 */
#include "base/nearest.h"

#include <string.h>

/* Longer names are not compared: the matrix has 33 x 33 cells. */
#define NEAREST_LIMIT 32

static size_t smaller (size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance (const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* d[i][j]: distance between the first i letters of a and the first j letters of b. */
    size_t d[NEAREST_LIMIT + 1][NEAREST_LIMIT + 1];
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t changed = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = smaller (changed, smaller (d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = smaller (d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a_length][b_length];
}

struct nearest nearest_start (const char *word, size_t length)
{
    return (struct nearest){.word = word, .length = length, .distance = length / 3 + 2};
}

void nearest_try (struct nearest *nearest, const char *name)
{
    size_t length = strlen (name);
    if (nearest->length > NEAREST_LIMIT || length > NEAREST_LIMIT)
        return;
    size_t mistakes = distance (nearest->word, nearest->length, name, length);
    if (mistakes < nearest->distance && mistakes < length) {
        nearest->best = name;
        nearest->distance = mistakes;
    }
}
