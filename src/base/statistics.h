/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

/* The q-quantile (0..1) of values, by linear interpolation between order statistics.  Sorts the
 * values; NaN if count is 0. */
double quantile (double *values, int count, double q);

#endif
