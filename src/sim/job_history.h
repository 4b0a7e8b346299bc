/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a cluster: when jobs were submitted and how much they took, from a table
 *     timestamp,duration,num_gpus,gpu_time,cluster          2017-10-09 07:01:55,66.0,1,66.0,11cb48
 * of which timestamp, duration (s) and gpu_time (GPU s) are used.
 */
#ifndef SIM_JOB_HISTORY_H
#define SIM_JOB_HISTORY_H

#include "pollux/pollux.h"

struct job_history {
    struct past_job {
        int64_t at_s; /* since 1970, in the clock of the table */
        double slot_s;
    } * jobs;
    int count; /* >= 1 */
};

/* Read a history.  Jobs of less than a minute are left out: they failed at once.  On success
 * *ret belongs to the caller (job_history_clear).  -EINVAL names file and line. */
int job_history_read (const char *path, struct job_history *ret, struct pollux_error *err);

void job_history_clear (struct job_history *history);

#endif
