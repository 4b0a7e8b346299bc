/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a recorded cluster is played (`pollux view`): GET and POST /v1/playback.  Times are those of
 * the journal.
 */
#ifndef API_PLAYBACK_H
#define API_PLAYBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct playback {
    const char *name;          /* of the journal's file */
    int64_t from_us, until_us; /* what is known in full */
    int64_t at_us;             /* the moment that is shown, or that was asked for */
    double speed;              /* recorded seconds per second */
    bool playing;
    bool ended; /* at_us is until_us */
    int64_t
        history_until_us; /* before it only the history is known; INT64_MIN: there is nothing before */
};

/* A request to play it otherwise. */
struct playback_change {
    bool has_at, has_speed, has_playing;
    int64_t at_us;
    double speed;
    bool playing;
};

/* From a thousandth to a year per second. */
#define PLAYBACK_SPEED_LEAST 1e-3
#define PLAYBACK_SPEED_MOST 1e8

/* Read a request: {"at": s, "speed": X, "playing": true}, any of them.  -EINVAL names the place. */
int playback_change_parse (const char *text, size_t length, struct playback_change *ret,
                           struct pollux_error *err);

#endif
