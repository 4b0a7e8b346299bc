/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET and POST /v1/playback.  A live cluster is not played: 404.
 */
#include "api/playback.h"

#include <errno.h>
#include <math.h>

#include "api/api_private.h"
#include "base/error.h"
#include "wire/document.h"
#include "wire/json.h"
#include "wire/keys.h"

/* Journals hold times up to 2^53 us. */
static const double latest_s = 9.007e9;

static double seconds (int64_t us)
{
    return (double)us * 1e-6;
}

json_t *api_playback_json (const struct api *api)
{
    const struct api_options *options = &api->options;
    if (!options->playback)
        return json_null ();
    struct playback playback = options->playback (options->self);
    json_t *until = playback.history_until_us == INT64_MIN
                        ? json_null ()
                        : json_real (seconds (playback.history_until_us));
    return json_pack ("{s:f, s:f, s:f, s:f, s:b, s:b, s:s, s:o}", "from_at",
                      seconds (playback.from_us), "until_at", seconds (playback.until_us), "at",
                      seconds (playback.at_us), "speed", playback.speed, "playing",
                      (int)playback.playing, "ended", (int)playback.ended, "name", playback.name,
                      "history_until_at", until);
}

static int decode (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    static const char *const keys[] = {"at", "speed", "playing", NULL};
    struct playback_change change = {0};
    double at_s = 0;
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_expect_keys (root, keys, err);
    change.has_at = wire_has (root, "at");
    change.has_speed = wire_has (root, "speed");
    change.has_playing = wire_has (root, "playing");
    if (code == 0 && change.has_at)
        code = wire_double (root, "at", 0, latest_s, &at_s, err);
    if (code == 0 && change.has_speed)
        code = wire_double (root, "speed", PLAYBACK_SPEED_LEAST, PLAYBACK_SPEED_MOST, &change.speed,
                            err);
    if (code == 0 && change.has_playing)
        code = wire_bool (root, "playing", &change.playing, err);
    if (code == 0 && !change.has_at && !change.has_speed && !change.has_playing)
        code = wire_fail (root, err, "expected at, speed or playing");
    change.at_us = llround (at_s * 1e6);
    if (code == 0)
        *(struct playback_change *)ret = change;
    return code;
}

int playback_change_parse (const char *text, size_t length, struct playback_change *ret,
                           struct pollux_error *err)
{
    return wire_document_decode ("playback", text, length, length + 1, decode, ret, err);
}

static bool is_live (struct api *api, struct http_request *request)
{
    if (api->options.playback)
        return false;
    api_refuse (api, request, 404,
                "this cluster is live; only a recorded one (pollux view) is played");
    return true;
}

void api_playback (struct api *api, struct http_request *request)
{
    if (!is_live (api, request))
        api_reply (api, request, 200, api_playback_json (api));
}

void api_play (struct api *api, struct http_request *request)
{
    struct playback_change change;
    struct pollux_error err;
    size_t length = 0;
    const char *text = http_body (request, &length);
    if (is_live (api, request))
        return;
    int code = playback_change_parse (text ? text : "", length, &change, &err);
    if (code < 0) {
        api_refuse (api, request, code == -ENOMEM ? 503 : 400, "%s", err.text);
        return;
    }
    api->options.play (api->options.self, &change);
    api_reply (api, request, 200, api_playback_json (api));
}
