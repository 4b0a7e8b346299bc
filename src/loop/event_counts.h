/* SPDX-License-Identifier: Apache-2.0 */
/* How many events of each kind were applied since the start of the process, for metrics. */
#ifndef LOOP_EVENT_COUNTS_H
#define LOOP_EVENT_COUNTS_H

#include "cluster/cluster.h"

/* Zero to begin with; nothing to free. */
struct event_counts {
    uint64_t events;    /* of all types */
    uint64_t rounds[2]; /* [0]: full rounds, [1]: prompt rounds, which only fill free slots */
    uint64_t submits;
    uint64_t starts;           /* generations */
    uint64_t restarts;         /* of these, after a job's first one and not after a failure */
    uint64_t failures;         /* generations that ended by themselves with an error */
    uint64_t ends[JOB_PHASES]; /* jobs that ended, by their last phase */
};

/* Count an event that was checked and is applied next: cluster is its state before the event. */
void event_counts_add (struct event_counts *counts, const struct cluster *cluster,
                       const struct event *event);

#endif
