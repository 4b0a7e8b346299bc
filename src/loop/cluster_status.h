/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about a running cluster beside its journalled state (struct cluster): agents'
 * reports that are not journalled yet, past rounds, history, what has changed since when, counters, and when the next round is due.
 * The daemon owns one and updates it with every event; the API reads it.
 */
#ifndef LOOP_CLUSTER_STATUS_H
#define LOOP_CLUSTER_STATUS_H

#include "base/histogram.h"
#include "loop/change_log.h"
#include "loop/event_counts.h"
#include "loop/history.h"
#include "loop/report_set.h"
#include "loop/round_history.h"

struct cluster_status {
    struct report_set reports;
    struct round_history rounds;
    struct history history;
    struct change_log changes;
    struct event_counts counts;
    struct histogram decide_s, commit_s; /* durations of decisions and of commits */
    int64_t next_round_us;               /* when the next full round is due; INT64_MAX: unknown */
};

void cluster_status_init (struct cluster_status *status);
/* Free what it holds. */
void cluster_status_clear (struct cluster_status *status);

/* A new event was checked and appended as number seq of the journal; it is applied next.  (While a
 * journal is read again, cluster_status_fold is called: counters start at 0.) */
void cluster_status_take (struct cluster_status *status, const struct cluster *cluster,
                          const struct event *event, int64_t seq);

/* The same for an event of a journal that is read again. */
void cluster_status_fold (struct cluster_status *status, const struct cluster *cluster,
                          const struct event *event, int64_t seq);

/* The decision of the last ROUND took this long.  Call it before its PLAN is posted. */
void cluster_status_decided (struct cluster_status *status, double seconds);

#endif
