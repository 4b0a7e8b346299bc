/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of events: it never runs backwards, not across restarts either, and while the daemon
 * runs it does not jump when somebody sets the machine's clock.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t offset_us; /* from the time since the machine's start to that of events */
};

/* The wall clock's time now, but not before the last event. */
struct clock clock_start (int64_t last_event_us);

int64_t clock_now_us (const struct clock *clock);

/* A monotonic clock, for durations and timers. */
int64_t clock_monotonic_us (void);

/* The wall clock, which can jump. */
int64_t clock_wall_us (void);

#endif
