/* SPDX-License-Identifier: Apache-2.0 */
/* What a job waits for, in a sentence that its owner understands. */
#ifndef LOOP_WAIT_REASON_H
#define LOOP_WAIT_REASON_H

#include "cluster/cluster.h"

enum { WAIT_REASON_SIZE = 256 };

/* Slots that nobody holds or is promised, and all, on nodes that take replicas; and how many of
 * the latter there are. */
struct slot_totals {
    int free, slots, nodes;
};
/* O(nodes + live jobs): once for a whole list. */
struct slot_totals slot_totals_of (const struct cluster *cluster);

/* False if the job waits for nothing: it runs as it should, or has ended.  next_round_us: INT64_MAX
 * if unknown. */
bool wait_reason (const struct cluster *cluster, struct slot_totals room, const struct job *job,
                  int64_t now_us, int64_t next_round_us, char ret[WAIT_REASON_SIZE]);

#endif
