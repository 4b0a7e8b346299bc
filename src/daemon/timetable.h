/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to decide.  Full rounds come at the interval; a prompt round as soon as somebody came, went
 * or may be tried again, but so seldom that deciding takes at most a tenth of the time.
 */
#ifndef DAEMON_TIMETABLE_H
#define DAEMON_TIMETABLE_H

#include <stdint.h>

enum round_kind { ROUND_NONE, ROUND_PROMPT, ROUND_FULL };

struct timetable {
    int64_t interval_us;
    int64_t full_us;   /* when the next full round is due */
    int64_t prompt_us; /* and a prompt one; INT64_MAX: nobody wishes one */
    int64_t rest_us;   /* not before */
};

/* last_us: of the last full round, or 0. */
struct timetable timetable_start (double interval_s, int64_t last_us, int64_t now_us);

/* Another interval from now on; the next full round comes no later than it would have. */
void timetable_change (struct timetable *timetable, double interval_s, int64_t now_us);

/* A prompt round is wished for at that time; the earliest wish counts. */
void timetable_wish (struct timetable *timetable, int64_t at_us);

/* The round to hold now. */
enum round_kind timetable_due (const struct timetable *timetable, int64_t now_us);

/* When one will be due. */
int64_t timetable_due_us (const struct timetable *timetable);

/* A round has begun, or was found to be unnecessary. */
void timetable_begin (struct timetable *timetable, enum round_kind kind, int64_t now_us);

/* It was decided in so many seconds. */
void timetable_end (struct timetable *timetable, int64_t now_us, double seconds);

#endif
