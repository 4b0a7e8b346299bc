/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to decide.  Full rounds come at the interval; a prompt round as soon as somebody came, went
 * or may be tried again, but so seldom that deciding takes at most a tenth of the time.
 */
#ifndef DAEMON_ROUND_SCHEDULE_H
#define DAEMON_ROUND_SCHEDULE_H

#include <stdint.h>

enum round_kind { ROUND_NONE, ROUND_PROMPT, ROUND_FULL };

struct round_schedule {
    int64_t interval_us;
    int64_t full_us;   /* when the next full round is due */
    int64_t prompt_us; /* and a prompt one; INT64_MAX: nobody wishes one */
    int64_t rest_us;   /* not before */
};

/* last_us: of the last full round, or 0. */
struct round_schedule round_schedule_start (double interval_s, int64_t last_us, int64_t now_us);

/* Another interval from now on; the next full round comes no later than it would have. */
void round_schedule_change (struct round_schedule *schedule, double interval_s, int64_t now_us);

/* A prompt round is wished for at that time; the earliest wish counts. */
void round_schedule_wish (struct round_schedule *schedule, int64_t at_us);

/* The round to hold now. */
enum round_kind round_schedule_due (const struct round_schedule *schedule, int64_t now_us);

/* When one will be due. */
int64_t round_schedule_due_us (const struct round_schedule *schedule);

/* A round has begun, or was found to be unnecessary. */
void round_schedule_begin (struct round_schedule *schedule, enum round_kind kind, int64_t now_us);

/* It was decided in so many seconds. */
void round_schedule_end (struct round_schedule *schedule, int64_t now_us, double seconds);

#endif
