/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents' reports since the last full round, the latest of each job.  They are kept in memory only,
 * until one HINTS event journals them just before the round that uses them; that of a job whose generation ends,
 * just before its EXIT.  A report costs one decoding and one copy.
 */
#ifndef LOOP_REPORT_SET_H
#define LOOP_REPORT_SET_H

#include "cluster/cluster.h"

/* Zero to begin with; report_set_clear frees it. */
struct report_set {
    struct report *reports; /* in order of the jobs' first reports */
    int count, capacity;
    struct reported {
        int place;      /* index in reports plus 1; 0: no report */
        char *refusal;  /* error message of the last report; NULL: it was accepted */
        bool told_type; /* report_set_strange_type has told it */
    } * jobs;           /* by index of the job */
    int job_capacity;
    uint64_t taken, refused, stale; /* since the start */
};

void report_set_clear (struct report_set *reports);

/* 0 if this is the generation of the job that runs; -ESTALE. */
int report_set_check (const struct cluster *cluster, int job, int generation,
                      struct pollux_error *err);

/* Keep a valid report.  -ESTALE: it is of another generation than the running one, or the job does not
 * run; -ENOMEM. */
int report_set_take (struct report_set *reports, const struct cluster *cluster,
                     const struct report *report, int generation, struct pollux_error *err);

/* A report of the job was malformed: keep the error message for the job's owner. */
void report_set_refuse (struct report_set *reports, int job, const char *why);

/* The type of the job's latest report if no node has it, once per job: the models of that type cannot be used.  NULL: nodes
 * have it, or it was told before. */
const char *report_set_strange_type (struct report_set *reports, const struct cluster *cluster,
                                     int job);

/* The latest report of a job that is not journalled yet; NULL: none. */
const struct report *report_set_latest (const struct report_set *reports, int job);

/* The error message of the job's last report; NULL: it was accepted. */
const char *report_set_refusal (const struct report_set *reports, int job);

/* The reports of live jobs, in order of submission, as the body of a HINTS event.  Returns their number;
 * *ret is borrowed until the next call with these reports. */
int report_set_collect (struct report_set *reports, const struct cluster *cluster,
                        const struct report **ret);

/* Drop all reports, or that of a job, after they were posted. */
void report_set_drop (struct report_set *reports);
void report_set_drop_job (struct report_set *reports, int job);

#endif
