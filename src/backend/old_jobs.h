/* SPDX-License-Identifier: Apache-2.0 */
/* Which ended jobs are so old that their logs are removed. */
#ifndef BACKEND_OLD_JOBS_H
#define BACKEND_OLD_JOBS_H

#include "cluster/cluster.h"

/* The logs of jobs that ended before this time are removed: all but the `keep` that ended last, and
 * those that ended at the same time as the oldest of them.  INT64_MIN: none is. */
int64_t old_jobs_before_us (const struct cluster *cluster, int keep);

#endif
