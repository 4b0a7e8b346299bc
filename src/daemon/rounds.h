/* SPDX-License-Identifier: Apache-2.0 */
/* The latest rounds, in short: a ring of what they decided and what it cost. */
#ifndef DAEMON_ROUNDS_H
#define DAEMON_ROUNDS_H

#include "cluster/cluster.h"
#include "cluster/round_summary.h"

/* 1024 of about 200 bytes: seventeen hours of full rounds. */
enum { ROUNDS_LIMIT = 1024 };

/* Zero to begin with; nothing to free. */
struct rounds {
    struct round_summary ring[ROUNDS_LIMIT];
    int64_t count;               /* of all that were ever added; the newest is number count */
    struct round_summary coming; /* begun by ROUND, added by its PLAN */
    int64_t last_full;           /* the number of the newest full one, 0: none */
};

/* An event is about to be applied; others than ROUND and PLAN are of no interest. */
void rounds_take (struct rounds *rounds, const struct cluster *cluster, const struct event *event,
                  int64_t seq);

/* The decision of the last ROUND took so long. */
void rounds_decided (struct rounds *rounds, double seconds);

/* The age-th newest, from 0 on; NULL if it is forgotten or never was. */
const struct round_summary *rounds_get (const struct rounds *rounds, int64_t age);

/* All that are remembered, oldest first, for a snapshot: how many; and back. */
int rounds_list (const struct rounds *rounds, struct round_summary ret[ROUNDS_LIMIT]);
void rounds_restore (struct rounds *rounds, const struct round_summary *summaries, int count);

/* The newest full one; NULL as above. */
const struct round_summary *rounds_last_full (const struct rounds *rounds);

#endif
