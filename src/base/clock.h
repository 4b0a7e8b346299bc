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

/* The wall clock, which can jump. */
int64_t clock_wall_us (void);

#endif
