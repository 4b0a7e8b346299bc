/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits, as a sentence for its owner. */
#ifndef LOOP_WAIT_REASON_H
#define LOOP_WAIT_REASON_H

#include "cluster/cluster.h"

enum { WAIT_REASON_SIZE = 256 };

/* Totals over the nodes that take replicas. */
struct slot_totals {
    int free;  /* slots that no job holds and no plan has assigned */
    int slots; /* all */
    int nodes;
    int starting; /* nodes that are ordered and have not come */
    struct type_slots {
        const char *type;
        int slots;
    } types[NODE_TYPES_LIMIT];
    int type_count;
};
/* O(nodes x types + live jobs): compute it once for a list of jobs, O(types) each. */
struct slot_totals slot_totals_of (const struct cluster *cluster);

/* Which times the sentence has. */
struct wait_times {
    int64_t now_us;
    int64_t next_round_us; /* when the next full round is due; INT64_MAX: unknown */
    bool left_out;         /* none: the sentence is the same until something happens */
};

/* Write the reason to ret.  False: the job does not wait, because it runs as planned or has ended. */
bool wait_reason (const struct cluster *cluster, const struct slot_totals *totals,
                  const struct job *job, struct wait_times times, char ret[WAIT_REASON_SIZE]);

/* Until when a job waits after a failure, or an end from outside with a pause; -1: it does not. */
int64_t wait_retry_us (const struct job *job, int64_t now_us);

#endif
