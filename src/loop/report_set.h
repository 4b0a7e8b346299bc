/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents' reports since the last full round, the latest of each job.  They are kept in memory only,
 * until one HINTS event journals them just before the round that uses them.  A report costs one
 * decoding and one copy.
 */
#ifndef LOOP_REPORTS_H
#define LOOP_REPORTS_H

#include "cluster/cluster.h"

/* Zero to begin with; reports_clear frees it. */
struct reports {
    struct report *reports; /* in order of the jobs' first reports */
    int count, capacity;
    struct reported {
        int place;     /* index in reports plus 1; 0: no report */
        char *refusal; /* error message of the last report; NULL: it was accepted */
    } * jobs;          /* by index of the job */
    int job_capacity;
    uint64_t taken, refused, stale; /* since the start */
};

void reports_clear (struct reports *reports);

/* 0 if this is the generation of the job that runs; -ESTALE. */
int reports_check (const struct cluster *cluster, int job, int generation,
                   struct pollux_error *err);

/* Keep a valid report.  -ESTALE: it is of another generation than the running one, or the job does not
 * run; -ENOMEM. */
int reports_take (struct reports *reports, const struct cluster *cluster,
                  const struct report *report, int generation, struct pollux_error *err);

/* A report of the job was malformed: keep the error message for the job's owner. */
void reports_refuse (struct reports *reports, int job, const char *why);

/* The latest report of a job that is not journalled yet; NULL: none. */
const struct report *reports_latest (const struct reports *reports, int job);

/* The error message of the job's last report; NULL: it was accepted. */
const char *reports_refusal (const struct reports *reports, int job);

/* The reports of live jobs, in order of submission, as the body of a HINTS event.  Returns their number;
 * *ret is borrowed until the next call with these reports. */
int reports_collect (struct reports *reports, const struct cluster *cluster,
                     const struct report **ret);

/* Drop all reports, after they were posted. */
void reports_drop (struct reports *reports);

#endif
