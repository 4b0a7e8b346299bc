/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agents reported since the last round: soft, the latest of each job only, remembered as one
 * HINTS event just before the round that uses them.  A report costs one decoding and one copy.
 */
#ifndef LOOP_REPORTS_H
#define LOOP_REPORTS_H

#include "cluster/cluster.h"

/* Zero to begin with; reports_clear frees. */
struct reports {
    struct report *reports; /* in order of the jobs' first reports */
    int count, capacity;
    struct reported {
        int place;     /* in reports, from 1 on; 0: none */
        char *refusal; /* why the last report was refused; NULL: it was not */
    } * jobs;          /* by index of the job */
    int job_capacity;
    uint64_t taken, refused, stale; /* since the start */
};

void reports_clear (struct reports *reports);

/* Keep a valid report of a live job's running generation.  -ESTALE, with a sentence: it is of
 * another generation, or the job does not run; -ENOMEM. */
int reports_take (struct reports *reports, const struct cluster *cluster,
                  const struct report *report, int generation, struct pollux_error *err);

/* A report of the job made no sense; its owner will want to know why. */
void reports_refuse (struct reports *reports, int job, const char *why);

/* The latest report of a job that is not yet in the cluster; NULL: none. */
const struct report *reports_latest (const struct reports *reports, int job);

/* Why the job's last report was refused; NULL: it was not. */
const char *reports_refusal (const struct reports *reports, int job);

/* The reports of jobs that are still there, in order of submission, as the body of a HINTS event;
 * borrowed until reports_drop. */
int reports_collect (struct reports *reports, const struct cluster *cluster,
                     const struct report **ret);

/* They are in the cluster now. */
void reports_drop (struct reports *reports);

#endif
