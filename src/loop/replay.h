/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: decide every ROUND of a journal again, with the recorded policy, parameters and seed on the
 * cluster that the events give, and compare with the recorded PLAN.
 *
 *     struct replay replay = {0};
 *     while (!replay.differs && (rc = source.next (source.self, &replay.cluster, &event, err)) == 1)
 *         rc = replay_event (&replay, &event, err);
 */
#ifndef LOOP_REPLAY_H
#define LOOP_REPLAY_H

#include "loop/loop.h"

/* The first difference between two plans: a job's placement, or else one of the policy's numbers. */
enum replay_part {
    REPLAY_PLACEMENT,
    REPLAY_SPEEDUP,
    REPLAY_FITNESS,
    REPLAY_BOUND,
    REPLAY_PRICE,
};
enum { REPLAY_PARTS = REPLAY_PRICE + 1 };
/* "placement", "speedup", ... */
extern const char *const replay_names[REPLAY_PARTS];

struct replay_difference {
    enum replay_part part;
    const struct job *job; /* NULL for the numbers of the whole plan */
    struct placement recorded, decided;
    double recorded_value, decided_value; /* instead, if the part is a number */
};

/* Zero to begin with, except for the tolerance; replay_clear frees it. */
struct replay {
    double
        tolerance; /* relative, for numbers, not placements; > 0 for journals of other machines */
    struct cluster cluster;
    struct memory memory;
    struct plan plan;              /* of the last round, as decided here */
    struct round round;            /* the last */
    int64_t round_us;              /* its time */
    bool waiting;                  /* its PLAN has not been read yet */
    struct pollux_error undecided; /* why no plan was found for it; empty: one was */
    int64_t rounds;
    int64_t unanswered;       /* of these, without a PLAN before the next ROUND */
    int64_t foreign;          /* of these, recorded by another version of Pollux */
    char software[NAME_SIZE]; /* the last of these versions */
    bool mixed;               /* the journal has rounds of several policies */
    /* Set by the first PLAN that differs; then take no more events.  Borrows from that event and from
     * the replay. */
    bool differs;
    struct replay_difference difference;
};

/* Take the next event.  -EINVAL: it does not fit the cluster's state; -ENOENT: this version does not
 * have the policy; or the policy's error, at a PLAN that it did not find here. */
int replay_event (struct replay *replay, const struct event *event, struct pollux_error *err);

void replay_clear (struct replay *replay);

#endif
