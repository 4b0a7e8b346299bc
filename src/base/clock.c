/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of events.  The wall clock is read once at the start; from then on CLOCK_BOOTTIME gives
 * the elapsed time: it cannot be set, and it includes the time in which the machine is suspended.
 */
#include "base/clock.h"

#include <time.h>

static int64_t read_us (clockid_t id)
{
    struct timespec now;
    clock_gettime (id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_us (void)
{
    return read_us (CLOCK_MONOTONIC);
}

int64_t clock_sensible_us (int64_t wall_us)
{
    return wall_us < 0 ? 0 : wall_us > CLOCK_WALL_LIMIT_US ? CLOCK_WALL_LIMIT_US : wall_us;
}

int64_t clock_wall_us (void)
{
    return clock_sensible_us (read_us (CLOCK_REALTIME));
}

struct clock clock_start (int64_t last_event_us)
{
    int64_t wall_us = clock_wall_us ();
    int64_t start_us = wall_us > last_event_us ? wall_us : last_event_us;
    return (struct clock){.offset_us = start_us - read_us (CLOCK_BOOTTIME)};
}

int64_t clock_now_us (const struct clock *clock)
{
    return read_us (CLOCK_BOOTTIME) + clock->offset_us;
}
