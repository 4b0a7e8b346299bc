/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of the latest rounds in a ring buffer: what they decided, and the time it took. */
#ifndef LOOP_ROUND_HISTORY_H
#define LOOP_ROUND_HISTORY_H

#include "cluster/cluster.h"
#include "cluster/round_summary.h"

/* 1024 summaries of about 200 bytes: 17 hours of full rounds at the default interval. */
enum { ROUND_HISTORY_LIMIT = 1024 };

/* Zero to begin with; nothing to free. */
struct round_history {
    struct round_summary ring[ROUND_HISTORY_LIMIT];
    int64_t count;               /* number of summaries ever added; the newest is number count */
    struct round_summary coming; /* begun by ROUND, added by its PLAN */
    int64_t last_full;           /* the number of the newest full round; 0: none */
};

/* An event that is applied next, as number seq of the journal.  Only ROUND and PLAN have an effect. */
void round_history_take (struct round_history *rounds, const struct cluster *cluster,
                         const struct event *event, int64_t seq);

/* The decision of the last ROUND took this long.  Call it before the PLAN is taken. */
void round_history_decided (struct round_history *rounds, double seconds);

/* The summary of an age: 0 is the newest.  NULL: there is none of that age. */
const struct round_summary *round_history_get (const struct round_history *rounds, int64_t age);

/* Copy all summaries, oldest first, for a snapshot, and return their number; and the inverse. */
int round_history_list (const struct round_history *rounds,
                        struct round_summary ret[ROUND_HISTORY_LIMIT]);
void round_history_restore (struct round_history *rounds, const struct round_summary *summaries,
                            int count);

/* The newest full round; NULL: there is none in the ring. */
const struct round_summary *round_history_last_full (const struct round_history *rounds);

#endif
