/* SPDX-License-Identifier: Apache-2.0 */
/* Three-way comparison, for functions that qsort calls. */
#ifndef BASE_COMPARE_H
#define BASE_COMPARE_H

/* -1, 0 or 1: a is less than b, equal, or greater. */
static inline int compare_doubles (double a, double b)
{
    return (a > b) - (a < b);
}

#endif
