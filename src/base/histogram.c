/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram with fixed limits: each bucket counts the durations above the limit before it, up to
 * and including its own.
 */
#include "base/histogram.h"

const double histogram_limits[HISTOGRAM_BUCKETS] = {1e-5,    4e-5,     1.6e-4,   6.4e-4,
                                                    2.56e-3, 1.024e-2, 4.096e-2, 0.16384,
                                                    0.65536, 2.62144,  10.48576, 41.94304};

void histogram_add (struct histogram *histogram, double seconds)
{
    int i = 0;
    while (i < HISTOGRAM_BUCKETS && seconds > histogram_limits[i])
        i++;
    histogram->buckets[i]++;
    histogram->sum += seconds > 0 ? seconds : 0;
}
