/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding again: every ROUND of a journal, on the cluster that its events give, with the policy,
 * parameters and seed that it tells; and comparing with the PLAN that follows it there.
 *
 *     struct replay replay = {0};
 *     while (!replay.differs && (rc = source.next (source.self, &replay.cluster, &event, err)) == 1)
 *         rc = replay_event (&replay, &event, err);
 */
#ifndef LOOP_REPLAY_H
#define LOOP_REPLAY_H

#include "loop/loop.h"

/* What differs first between two plans: a job's placement, or else one of the policy's numbers. */
enum replay_part {
    REPLAY_PLACEMENT,
    REPLAY_SPEEDUP,
    REPLAY_FITNESS,
    REPLAY_BOUND,
    REPLAY_PRICE,
};
enum { REPLAY_PARTS = REPLAY_PRICE + 1 };
/* "placement" and so on. */
extern const char *const replay_names[REPLAY_PARTS];

struct replay_difference {
    enum replay_part part;
    const struct job *job; /* NULL for the numbers of the whole plan */
    struct placement recorded, decided;
    double recorded_value, decided_value; /* instead, where it is a number */
};

/* Zero but for the tolerance to begin with; replay_clear frees it. */
struct replay {
    double tolerance; /* relative, of numbers alone; for journals of other machines */
    struct cluster cluster;
    struct memory memory;
    struct plan plan;   /* of the last round, decided again */
    struct round round; /* the last */
    int64_t round_us;   /* its time */
    bool waiting;       /* its PLAN has not come yet */
    int64_t rounds;
    int64_t unanswered;       /* of these, without a PLAN before the next */
    int64_t foreign;          /* of these, decided by another version */
    char software[NAME_SIZE]; /* the last such version */
    bool mixed;               /* not all by one policy */
    /* Set by the first PLAN that differs, after which no event is taken.  Borrows from that
     * event and from the replay. */
    bool differs;
    struct replay_difference difference;
};

/* Take the next event.  -EINVAL if it does not fit what is believed, -ENOENT for a policy that
 * this version does not have, or whatever the policy fails with. */
int replay_event (struct replay *replay, const struct event *event, struct pollux_error *err);

void replay_clear (struct replay *replay);

#endif
