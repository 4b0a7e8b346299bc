/* SPDX-License-Identifier: Apache-2.0 */
/* How many jobs are in the system at the same time. */
#ifndef SIM_MEAN_CONCURRENCY_H
#define SIM_MEAN_CONCURRENCY_H

/* When a job was in the system. */
struct stay {
    double from_s, to_s;
};

/* For every stay the mean number of stays in the system during it, itself included.
 * 0 or -ENOMEM. */
int mean_concurrency (const struct stay *stays, int count, double *ret);

#endif
