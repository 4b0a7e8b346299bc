/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers by which schedulers are compared. */
#ifndef SIM_METRICS_H
#define SIM_METRICS_H

/* The q-quantile (0..1) of values, by linear interpolation between order statistics.  Sorts the
 * values; NaN if count is 0. */
double quantile (double *values, int count, double q);

/* When a job was in the system. */
struct stay {
    double from_s, to_s;
};

/* For every stay the mean number of stays in the system during it, itself included.
 * 0 or -ENOMEM. */
int mean_concurrency (const struct stay *stays, int count, double *ret);

#endif
