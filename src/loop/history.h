/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The past of a cluster and of its jobs in bounded form, for charts: a fold of events, like the
 * cluster itself.  Time comes from the events, so equal events give an equal history.
 *
 *     struct history history;
 *     history_begin (&history, &cluster);             empty, or restored (store_restore does it)
 *     for every event:
 *         history_take (&history, &cluster, &event);  BEFORE the event is applied; it has passed
 *         cluster_apply_checked (&cluster, &event, err);                        cluster_check
 *     ... history.past.minutes, history_job (&history, job) ...
 *     history_clear (&history);
 *
 * What is between the last event and now is not in it yet: values of the present hold.  history_until adds them
 * to a copy.
 *
 * A report that changes no batch is skipped if another one of the job was taken a short time ago,
 * compared with the job's age (a 16th), or if more than 8 per second would be taken of all jobs.
 * So the cost of a round is small (bench/history.c), and the charts of jobs have steps of 10
 * minutes if 5,000 run.
 *
 * Bounds: HISTORY_JOBS_LIMIT jobs have a past, of at most 19 kB each (cluster/job_past.h) and about
 * 3 kB usually: 30 MB, at most 190 MB.  Those of jobs that ended longest ago are dropped first.
 * Besides, 48 bytes for each job of the cluster, and 330 kB for the cluster's series.
 */
#ifndef LOOP_HISTORY_H
#define LOOP_HISTORY_H

#include "cluster/cluster.h"
#include "cluster/cluster_past.h"
#include "cluster/job_past.h"

enum { HISTORY_JOBS_LIMIT = 10000 };

struct history {
    struct cluster_past past;
    struct history_job {
        struct job_past *past; /* NULL: dropped, or no memory for it */
        /* Copies of its numbers, so that a skipped report touches no other memory; and the batch
         * that the job reported last. */
        int64_t next_report_us, goodput;
        struct pollux_batch batch;
    } * jobs; /* by index of the job */
    int job_capacity;
    int *ended; /* jobs that have ended and have a past, in the order of their ends */
    int ended_first, ended_count, ended_capacity;
    int past_count;
    /* The present of the cluster. */
    int slots, used, running, waiting;
    int64_t goodput; /* sum of that of the jobs, in millionths: integers, so that it is exact */
    /* Set by store_restore: rows that could not be read, and why the first one. */
    int lost_rows;
    struct pollux_error lost_why;
};

/* Begin with the state of a cluster.  The past of a live job begins now, an ended one has none. */
void history_begin (struct history *history, const struct cluster *cluster);
void history_clear (struct history *history);

/* An event that is applied next.  If memory is short, a part of the history is lost. */
void history_take (struct history *history, const struct cluster *cluster,
                   const struct event *event);

/* The sum over running jobs of goodput at present, each relative to its own on one replica. */
double history_goodput (const struct history *history);

/* A copy of the cluster's past in which the present lasts from the last event until now.  The caller clears it
 * (cluster_past_clear).  -ENOMEM. */
int history_until (const struct history *history, int64_t now_us, struct cluster_past *ret);

/* The past of a job; NULL: it has none. */
const struct job_past *history_job (const struct history *history, int job);

/* The values of a live job now, with its latest hints and batch: a point after the last one of its
 * past. */
void history_present (const struct history *history, const struct cluster *cluster, int job,
                      const struct hints *hints, struct pollux_batch batch,
                      float ret[POINT_VALUES]);

/* Restore what was kept: begin with a restored cluster and without the pasts of jobs; restore those
 * that were kept, and that of the cluster; and begin that of a live job anew if it is lost and there
 * is room.  A job that had none gets none, as in the fold.  What is passed is moved, and the
 * original zeroed.  -EINVAL: it cannot be the past of this job or cluster; -ENOMEM. */
void history_begin_without_jobs (struct history *history, const struct cluster *cluster);
int history_restore_job (struct history *history, const struct cluster *cluster, int job,
                         struct job_past *past);
int history_restore_past (struct history *history, const struct cluster *cluster,
                          struct cluster_past *past);
void history_begin_job (struct history *history, const struct cluster *cluster, int job);

#endif
