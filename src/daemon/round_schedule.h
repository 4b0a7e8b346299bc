/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to decide.  Full rounds come at the interval.  Prompt rounds, which only fill free slots, come
 * as soon as a job was submitted, ended or may be tried again after a failure, but so seldom that
 * decisions take at most a tenth of the time.
 */
#ifndef DAEMON_ROUND_SCHEDULE_H
#define DAEMON_ROUND_SCHEDULE_H

#include <stdint.h>

enum round_kind { ROUND_NONE, ROUND_PROMPT, ROUND_FULL };

struct round_schedule {
    int64_t interval_us;
    int64_t full_us;       /* when the next full round is due */
    int64_t prompt_us;     /* earliest request of a prompt round; INT64_MAX: none */
    int64_t not_before_us; /* no prompt round before this time */
};

/* last_us: time of the last full round, or 0. */
struct round_schedule round_schedule_start (double interval_s, int64_t last_us, int64_t now_us);

/* Change the interval.  The next full round comes no later than planned before. */
void round_schedule_change (struct round_schedule *schedule, double interval_s, int64_t now_us);

/* Request a prompt round at that time; the earliest request counts. */
void round_schedule_request (struct round_schedule *schedule, int64_t at_us);

/* Request a full round at that time, if none comes before. */
void round_schedule_request_full (struct round_schedule *schedule, int64_t at_us);

/* The round that is due now. */
enum round_kind round_schedule_due (const struct round_schedule *schedule, int64_t now_us);

/* When the next round of either kind is due. */
int64_t round_schedule_due_us (const struct round_schedule *schedule);

/* A round begins, or was found to be unnecessary: clears all requests of prompt rounds. */
void round_schedule_begin (struct round_schedule *schedule, enum round_kind kind, int64_t now_us);

/* Its decision took this long. */
void round_schedule_end (struct round_schedule *schedule, int64_t now_us, double seconds);

#endif
