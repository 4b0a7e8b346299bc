/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of the next full round, of the next prompt round, and before which no prompt round may
 * come; the header has the rules.
 */
#include "daemon/round_schedule.h"

/* After a decision of t seconds no prompt round comes for PAUSE_FACTOR x t. */
static const double PAUSE_FACTOR = 9;

static int64_t to_us (double seconds)
{
    return (int64_t)(seconds * 1e6);
}

struct round_schedule round_schedule_start (double interval_s, int64_t last_us, int64_t now_us)
{
    int64_t interval_us = to_us (interval_s), full_us = last_us + interval_us;
    if (full_us < now_us)
        full_us = now_us;
    if (full_us > now_us + interval_us)
        full_us = now_us + interval_us; /* the interval was longer before */
    return (struct round_schedule){.interval_us = interval_us,
                                   .full_us = full_us,
                                   .prompt_us = now_us,
                                   .not_before_us = now_us};
}

void round_schedule_change (struct round_schedule *schedule, double interval_s, int64_t now_us)
{
    schedule->interval_us = to_us (interval_s);
    if (schedule->full_us > now_us + schedule->interval_us)
        schedule->full_us = now_us + schedule->interval_us;
}

void round_schedule_request (struct round_schedule *schedule, int64_t at_us)
{
    if (at_us < schedule->prompt_us)
        schedule->prompt_us = at_us;
}

void round_schedule_request_full (struct round_schedule *schedule, int64_t at_us)
{
    if (at_us < schedule->full_us)
        schedule->full_us = at_us;
}

static int64_t prompt_us (const struct round_schedule *schedule)
{
    return schedule->prompt_us > schedule->not_before_us ? schedule->prompt_us
                                                         : schedule->not_before_us;
}

enum round_kind round_schedule_due (const struct round_schedule *schedule, int64_t now_us)
{
    if (schedule->full_us <= now_us)
        return ROUND_FULL;
    return prompt_us (schedule) <= now_us ? ROUND_PROMPT : ROUND_NONE;
}

int64_t round_schedule_due_us (const struct round_schedule *schedule)
{
    int64_t us = prompt_us (schedule);
    return us < schedule->full_us ? us : schedule->full_us;
}

void round_schedule_begin (struct round_schedule *schedule, enum round_kind kind, int64_t now_us)
{
    schedule->prompt_us = INT64_MAX;
    if (kind == ROUND_FULL) {
        /* At fixed multiples of the interval, unless one was missed. */
        schedule->full_us += schedule->interval_us;
        if (schedule->full_us <= now_us)
            schedule->full_us = now_us + schedule->interval_us;
    }
}

void round_schedule_end (struct round_schedule *schedule, int64_t now_us, double seconds)
{
    schedule->not_before_us = now_us + to_us (PAUSE_FACTOR * seconds);
}
