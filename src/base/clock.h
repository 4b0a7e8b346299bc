/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of events.  It never goes back, also not across restarts, and it does not jump when the
 * machine's clock is set.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t offset_us; /* time of events minus time since boot */
};

/* Start at the wall clock's time, or at the last event if that is later. */
struct clock clock_start (int64_t last_event_us);

int64_t clock_now_us (const struct clock *clock);

/* A monotonic clock, for durations and timers. */
int64_t clock_monotonic_us (void);

/* The wall clock, which can jump; within CLOCK_WALL_LIMIT_US. */
int64_t clock_wall_us (void);

/* The year 2200.  A machine whose clock is set wrongly must not begin event times that formats cannot
 * hold (2^53 us, the year 2255), because these never go back. */
#define CLOCK_WALL_LIMIT_US INT64_C (7258118400000000)

/* A wall clock's time, or the nearest one between 1970 and CLOCK_WALL_LIMIT_US. */
int64_t clock_sensible_us (int64_t wall_us);

#endif
