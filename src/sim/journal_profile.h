/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a journal tells of how its jobs train, as applications and a workload for simulations.
 *
 *     struct recorded recorded = {0};
 *     each event, after it was applied to the cluster:  recorded_event (&recorded, &cluster, &event, err)
 *     for each job of the cluster:                       recorded_profile (&recorded, job, ...)
 *     recorded_clear (&recorded)
 */
#ifndef SIM_JOURNAL_PROFILE_H
#define SIM_JOURNAL_PROFILE_H

#include "cluster/cluster.h"
#include "cluster/event.h"
#include "wire/profiles.h"

/* Noise reported while one part of the way was gone, as sums. */
struct recorded_knot {
    double share, log_ratio;
    int count;
};

/* Of one job, by its index. */
struct recorded_job {
    struct hints hints; /* the latest with a model */
    struct recorded_knot knots[PROFILE_KNOTS];
};

struct journal_profile {
    struct recorded_job *jobs;
    int count, capacity;
    struct round round; /* the latest full one; policy "": there was none */
    double delay_s;     /* from START to STARTED, summed over `delays` */
    int delays;
};

/* Take in what an event says.  0 or -ENOMEM. */
int journal_profile_event (struct journal_profile *recorded, const struct cluster *cluster,
                           const struct event *event, struct pollux_error *err);

/* Take in what a snapshot knew of all jobs, before the first event. */
int journal_profile_begin (struct journal_profile *recorded, const struct cluster *cluster,
                           struct pollux_error *err);

/* The job as an application of its own name.  -ENODATA says what it did not tell. */
int journal_profile_profile (const struct journal_profile *recorded, const struct cluster *cluster,
                             int job, struct profile *ret, struct pollux_error *err);

void journal_profile_clear (struct journal_profile *recorded);

#endif
