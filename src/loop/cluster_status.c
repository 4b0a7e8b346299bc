/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes events and durations on to the parts of the status.
 */
#include "loop/cluster_status.h"

void cluster_status_init (struct cluster_status *status)
{
    static const struct cluster empty;
    *status = (struct cluster_status){.next_round_us = INT64_MAX};
    history_begin (&status->history, &empty);
}

void cluster_status_clear (struct cluster_status *status)
{
    report_set_clear (&status->reports);
    history_clear (&status->history);
    change_log_clear (&status->changes);
}

void cluster_status_fold (struct cluster_status *status, const struct cluster *cluster,
                          const struct event *event, int64_t seq)
{
    round_history_take (&status->rounds, cluster, event, seq);
    history_take (&status->history, cluster, event);
    change_log_take (&status->changes, cluster, event, seq);
}

void cluster_status_take (struct cluster_status *status, const struct cluster *cluster,
                          const struct event *event, int64_t seq)
{
    cluster_status_fold (status, cluster, event, seq);
    event_counts_add (&status->counts, cluster, event);
}

void cluster_status_decided (struct cluster_status *status, double seconds)
{
    round_history_decided (&status->rounds, seconds);
    histogram_add (&status->decide_s, seconds);
}
