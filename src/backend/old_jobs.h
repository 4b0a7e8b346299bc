/* SPDX-License-Identifier: Apache-2.0 */
/* Which ended jobs are so old that their logs are removed. */
#ifndef BACKEND_OLD_JOBS_H
#define BACKEND_OLD_JOBS_H

#include "cluster/cluster.h"

enum {
    OLD_JOBS_KEEP = 10000, /* jobs that ended last: their logs are kept */
    /* Ends of generations between two removals; looking for old jobs among 20,000 takes 20 ms. */
    OLD_JOBS_EXITS = 1000,
};

/* The logs of jobs that ended before this time are removed: all but the `keep` that ended last, and
 * those that ended at the same time as the oldest of them.  INT64_MIN: none is. */
int64_t old_jobs_before_us (const struct cluster *cluster, int keep);
/* Has the job ended before this time? */
bool job_is_old (const struct job *job, int64_t before_us);

#endif
