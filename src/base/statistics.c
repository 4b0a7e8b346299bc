/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of arrays.
 */
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare (const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double quantile (double *values, int count, double q)
{
    if (count == 0)
        return NAN;
    qsort (values, (size_t)count, sizeof (values[0]), compare);
    double at = q * (count - 1);
    int below = (int)floor (at), above = below + 1 < count ? below + 1 : below;
    return values[below] + (values[above] - values[below]) * (at - below);
}
