/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few times and their order; see the header for the rules.
 */
#include "daemon/timetable.h"

/* A round of t seconds is followed by at least so many times t without a prompt one. */
static const double REST = 9;

static int64_t to_us (double seconds)
{
    return (int64_t)(seconds * 1e6);
}

struct timetable timetable_start (double interval_s, int64_t last_us, int64_t now_us)
{
    int64_t interval_us = to_us (interval_s), full_us = last_us + interval_us;
    if (full_us < now_us)
        full_us = now_us;
    if (full_us > now_us + interval_us)
        full_us = now_us + interval_us; /* the interval was longer then */
    return (struct timetable){
        .interval_us = interval_us, .full_us = full_us, .prompt_us = now_us, .rest_us = now_us};
}

void timetable_change (struct timetable *timetable, double interval_s, int64_t now_us)
{
    timetable->interval_us = to_us (interval_s);
    if (timetable->full_us > now_us + timetable->interval_us)
        timetable->full_us = now_us + timetable->interval_us;
}

void timetable_wish (struct timetable *timetable, int64_t at_us)
{
    if (at_us < timetable->prompt_us)
        timetable->prompt_us = at_us;
}

static int64_t prompt_us (const struct timetable *timetable)
{
    return timetable->prompt_us > timetable->rest_us ? timetable->prompt_us : timetable->rest_us;
}

enum round_kind timetable_due (const struct timetable *timetable, int64_t now_us)
{
    if (timetable->full_us <= now_us)
        return ROUND_FULL;
    return prompt_us (timetable) <= now_us ? ROUND_PROMPT : ROUND_NONE;
}

int64_t timetable_due_us (const struct timetable *timetable)
{
    int64_t us = prompt_us (timetable);
    return us < timetable->full_us ? us : timetable->full_us;
}

void timetable_begin (struct timetable *timetable, enum round_kind kind, int64_t now_us)
{
    timetable->prompt_us = INT64_MAX;
    if (kind == ROUND_FULL) {
        /* On the beat, unless beats were missed. */
        timetable->full_us += timetable->interval_us;
        if (timetable->full_us <= now_us)
            timetable->full_us = now_us + timetable->interval_us;
    }
}

void timetable_end (struct timetable *timetable, int64_t now_us, double seconds)
{
    timetable->rest_us = now_us + to_us (REST * seconds);
}
