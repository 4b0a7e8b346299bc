/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes events and durations on to the parts of the status.
 */
#include "loop/cluster_status.h"

void cluster_status_init (struct cluster_status *status)
{
    *status = (struct cluster_status){.next_round_us = INT64_MAX};
}

void cluster_status_clear (struct cluster_status *status)
{
    report_set_clear (&status->reports);
}

void cluster_status_take (struct cluster_status *status, const struct cluster *cluster,
                          const struct event *event, int64_t seq)
{
    round_history_take (&status->rounds, cluster, event, seq);
    event_counts_add (&status->counts, cluster, event);
}

void cluster_status_decided (struct cluster_status *status, double seconds)
{
    round_history_decided (&status->rounds, seconds);
    histogram_add (&status->decide_s, seconds);
}
