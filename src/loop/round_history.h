/* SPDX-License-Identifier: Apache-2.0 */
/* The latest rounds, in short: a ring of what they decided and what it cost. */
#ifndef LOOP_ROUND_HISTORY_H
#define LOOP_ROUND_HISTORY_H

#include "cluster/cluster.h"
#include "cluster/round_summary.h"

/* 1024 of about 200 bytes: seventeen hours of full rounds. */
enum { ROUND_HISTORY_LIMIT = 1024 };

/* Zero to begin with; nothing to free. */
struct round_history {
    struct round_summary ring[ROUND_HISTORY_LIMIT];
    int64_t count;               /* of all that were ever added; the newest is number count */
    struct round_summary coming; /* begun by ROUND, added by its PLAN */
    int64_t last_full;           /* the number of the newest full one, 0: none */
};

/* An event is about to be applied; others than ROUND and PLAN are of no interest. */
void round_history_take (struct round_history *rounds, const struct cluster *cluster,
                         const struct event *event, int64_t seq);

/* The decision of the last ROUND took so long. */
void round_history_decided (struct round_history *rounds, double seconds);

/* The age-th newest, from 0 on; NULL if it is forgotten or never was. */
const struct round_summary *round_history_get (const struct round_history *rounds, int64_t age);

/* All that are remembered, oldest first, for a snapshot: how many; and back. */
int round_history_list (const struct round_history *rounds,
                        struct round_summary ret[ROUND_HISTORY_LIMIT]);
void round_history_restore (struct round_history *rounds, const struct round_summary *summaries,
                            int count);

/* The newest full one; NULL as above. */
const struct round_summary *round_history_last_full (const struct round_history *rounds);

#endif
