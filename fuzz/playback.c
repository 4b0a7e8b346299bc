/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: requests of POST /v1/playback.  A refusal has a reason; an accepted one is within its limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/playback.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (int holds)
{
    if (!holds)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct playback_change change;
    struct pollux_error err = {""};
    if (playback_change_parse ((const char *)data, size, &change, &err) < 0) {
        must (strncmp (err.text, "playback:", 9) == 0);
        return 0;
    }
    must (change.has_at || change.has_speed || change.has_playing);
    must (!change.has_at || (change.at_us >= 0 && change.at_us <= INT64_C (1) << 53));
    must (!change.has_speed ||
          (change.speed >= PLAYBACK_SPEED_LEAST && change.speed <= PLAYBACK_SPEED_MOST));
    return 0;
}
