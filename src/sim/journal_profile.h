/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of the jobs of a journal, for simulations.
 *
 *     struct journal_profile recorded = {0};
 *     journal_profile_begin (&recorded, &cluster, err);            with the snapshot's jobs
 *     journal_profile_event (&recorded, &cluster, &event, err);    each event, once applied
 *     journal_profile_of (&recorded, &cluster, job, &profile, err);
 *     journal_profile_clear (&recorded);
 */
#ifndef SIM_JOURNAL_PROFILE_H
#define SIM_JOURNAL_PROFILE_H

#include "cluster/cluster.h"
#include "cluster/event.h"
#include "wire/profiles.h"

/* Sums over the noise reports within one part of a job's progress. */
struct recorded_knot {
    double share, log_ratio;
    int count;
};

/* What was read of one job. */
struct recorded_job {
    struct hints hints; /* the latest with a model */
    struct recorded_knot knots[PROFILE_KNOTS];
};

struct journal_profile {
    struct recorded_job *jobs;
    int count, capacity;
    struct round round; /* the latest full round; policy "": none yet */
    double delay_s;     /* from START to STARTED, summed over `delays` */
    int delays;
};

/* Add an event's reports.  0 or -ENOMEM. */
int journal_profile_event (struct journal_profile *recorded, const struct cluster *cluster,
                           const struct event *event, struct pollux_error *err);

/* Add the reports in a snapshot's jobs, before the first event.  0 or -ENOMEM. */
int journal_profile_begin (struct journal_profile *recorded, const struct cluster *cluster,
                           struct pollux_error *err);

/* The job as an application with the job's name.  -ENODATA says which report is missing. */
int journal_profile_of (const struct journal_profile *recorded, const struct cluster *cluster,
                        int job, struct profile *ret, struct pollux_error *err);

void journal_profile_clear (struct journal_profile *recorded);

#endif
