/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of durations, by size. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

/* Upper limits in seconds: 10 us to 40 s in steps of 4.  The last bucket counts longer ones. */
enum { HISTOGRAM_BUCKETS = 12 };
extern const double histogram_limits[HISTOGRAM_BUCKETS];

/* Zero is empty. */
struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS + 1];
    double sum; /* seconds */
};

/* Count one duration.  A negative one counts as 0. */
void histogram_add (struct histogram *histogram, double seconds);

#endif
