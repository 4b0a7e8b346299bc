/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which old generations of a job keep their files: the newest ones that fit into a number of bytes.
 *
 * What counts is disk space: every file and directory with its blocks, and with 16 KiB at least.  So the
 * limit also bounds how many files a job keeps, and how long measuring takes.  For the default, 256 MiB
 * (RUN_JOB_LOG_DEFAULT of wire/run.h):
 *
 *     256 MiB / 16 KiB = 16384 files: 70 ms of CPU time, and seconds on a slow file server
 *     a generation has 3 + 6 K files (K replicas): 1820 generations with 1 replica, 40 with 64
 *     a replica's log has at most 6 files of 10 MiB: 4 generations of full logs with 1 replica
 *     10,000 jobs that ended keep their logs: 2.5 TiB if all of them reach the limit
 *
 * The newest generation is always kept, also if it alone is larger.
 */
#ifndef BACKEND_KEPT_LOGS_H
#define BACKEND_KEPT_LOGS_H

#include <stdint.h>

#include "pollux/pollux.h"

/* The generations that have files in a job's directory (JOB in run.h), rising.  *ret is the caller's
 * (free).  Returns their number, 0 or more, or -errno. */
int kept_logs_list (int directory, int **ret, struct pollux_error *err);

/* The first generation to keep so that all up to `newest` need at most limit bytes, and the bytes that
 * they need.  If the newest alone needs more, measuring it stops beyond the limit. */
int kept_logs_first (int directory, int newest, int64_t limit, int *ret, int64_t *ret_used,
                     struct pollux_error *err);

/* The bytes in use, by number of the job in the cluster, so that not all files are measured at every
 * end.  All 0 but limit is an empty one. */
struct kept_logs {
    int64_t limit;
    int64_t *used; /* -1: not measured since the start of the daemon */
    int count;
};
void kept_logs_clear (struct kept_logs *kept);

/* A generation of a job has ended: call remove for the generations that are too much.  root: of
 * the run directories; index: the job's number. */
void kept_logs_ended (struct kept_logs *kept, int root, const char *job, int index, int generation,
                      void (*remove) (void *self, const char *job, int generation), void *self);

/* The oldest generation of a job that has files.  -ENOENT: there is none. */
int kept_logs_oldest (int root, const char *job, int *ret, struct pollux_error *err);

#endif
