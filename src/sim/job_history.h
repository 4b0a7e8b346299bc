/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job history of a cluster: times of submission and slot time, from a table
 *     timestamp,duration,num_gpus,gpu_time,cluster          2017-10-09 07:01:55,66.0,1,66.0,11cb48
 * Used are timestamp, duration (s) and gpu_time (slot s).
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

/* Read a history without the jobs of less than a minute, which failed at once.  On success
 * *ret belongs to the caller (job_history_clear).  -EINVAL names file and line. */
int job_history_read (const char *path, struct job_history *ret, struct pollux_error *err);

void job_history_clear (struct job_history *history);

#endif
