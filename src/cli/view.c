/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux view: serve the page of polluxd from a journal, on a loopback port.
 *
 *     poll: the HTTP server, signals, the time of the player's next step
 *       -> handlers (api) read the player's moment -> player_step -> watchers get what changed
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/page.h"
#include "api/tokens.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/options.h"
#include "cli/command.h"
#include "daemon/stop_signals.h"
#include "recorded/player.h"
#include "store/reader.h"

enum { VIEW_PORT = 1, VIEW_AT, VIEW_SPEED, VIEW_PAUSED };

static const struct command_option view_options[] = {
    {"port", "N", VIEW_PORT, "port on 127.0.0.1 (a free one)"},
    {"at", "SECONDS|end", VIEW_AT, "start at this time of the journal (its beginning)"},
    {"speed", "X", VIEW_SPEED, "recorded seconds per second (the whole in 2.5 minutes at most)"},
    {"paused", NULL, VIEW_PAUSED, "do not play yet"},
};

struct view_request {
    const char *path;
    int64_t port;
    double at_s;  /* NaN: the beginning; infinite: the end */
    double speed; /* 0: chosen by the length */
    bool paused;
};

struct viewer {
    struct player *player;
    struct reader *reader;
    struct tokens *tokens;
    struct api *api;
    struct http_server *server;
    int signals;
};

/* ---- The command line --------------------------------------------------------------------- */

static int parse_at (const struct options *options, double *ret, struct pollux_error *err)
{
    *ret = INFINITY;
    if (strcmp (options->argument, "end") == 0 || options_double (options, 0, 9e9, ret, err) == 0)
        return 0;
    return fail (err, -EINVAL, "--at: expected seconds from 0 to 9e9, or end, got %s",
                 quote (options->argument).text);
}

static int take (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct view_request *request = self;
    switch (id) {
    case VIEW_PORT:
        return options_int64 (options, 0, 65535, &request->port, err);
    case VIEW_AT:
        return parse_at (options, &request->at_s, err);
    case VIEW_SPEED:
        return options_double (options, PLAYBACK_SPEED_LEAST, PLAYBACK_SPEED_MOST, &request->speed,
                               err);
    case VIEW_PAUSED:
        request->paused = true;
    }
    return 0;
}

static int parse (struct options *options, struct view_request *ret, struct pollux_error *err)
{
    struct view_request request = {.at_s = NAN};
    int rc = options_each (options, take, &request, err);
    if (rc == 0)
        rc = options_operand (options, &request.path, err);
    if (rc == 0)
        *ret = request;
    return rc;
}

/* ---- What the API asks for ---------------------------------------------------------------- */

static int64_t now_us (void *self)
{
    return player_now_us (((struct viewer *)self)->player);
}

static int64_t pace_us (void *self)
{
    (void)self;
    return clock_monotonic_us ();
}

static int refuse_event (void *self, struct event *event, struct pollux_error *err)
{
    (void)self;
    (void)event;
    return fail (err, -EINVAL, "this is a recorded run: nothing can be changed");
}

static int refuse_report (void *self, const struct report *report, int generation,
                          struct pollux_error *err)
{
    (void)self;
    (void)report;
    (void)generation;
    return fail (err, -ESTALE, "this is a recorded run: it takes no reports");
}

static void ignore_refusal (void *self, int job, const char *why)
{
    (void)self;
    (void)job;
    (void)why;
}

static struct playback playback (void *self)
{
    return player_playback (((struct viewer *)self)->player);
}

static void play (void *self, const struct playback_change *change)
{
    player_play (((struct viewer *)self)->player, change, clock_monotonic_us ());
}

/* ---- Opening ------------------------------------------------------------------------------ */

static int open_api (struct viewer *viewer, struct pollux_error *err)
{
    const struct moment *moment = player_moment (viewer->player);
    struct api_options options = {
        .cluster = &moment->cluster,
        .status = &moment->status,
        .round = &moment->round,
        .backend = "recorded",
        .tokens = viewer->tokens,
        .reader = viewer->reader,
        .started_us = player_now_us (viewer->player),
        .now_us = now_us,
        .pace_us = pace_us,
        .post = refuse_event,
        .report = refuse_report,
        .report_refused = ignore_refusal,
        .playback = playback,
        .play = play,
        .self = viewer,
    };
    return api_new (&options, &viewer->api, err);
}

static int open_server (struct viewer *viewer, int port, struct pollux_error *err)
{
    char address[32];
    const char *const listen[] = {address};
    snprintf (address, sizeof (address), "127.0.0.1:%d", port);
    struct http_options options = {.listen = listen,
                                   .listen_count = 1,
                                   .authorize = api_authorize,
                                   .role_name = role_name,
                                   .self = viewer->api};
    options.routes = api_routes (&options.route_count);
    int rc = http_server_new (&options, clock_monotonic_us (), &viewer->server, err);
    if (rc == 0)
        api_serve (viewer->api, viewer->server);
    return rc;
}

static int open_signals (struct viewer *viewer, struct pollux_error *err)
{
    signal (SIGPIPE, SIG_IGN);
    viewer->signals = stop_signals_open ();
    return viewer->signals < 0 ? fail (err, -errno, "no signals: %s", strerror (errno)) : 0;
}

/* Of the speeds that the page offers, the first with which all is played in at most two and a half minutes. */
static double suitable_speed (const struct playback *playback)
{
    static const double speeds[] = {1, 10, 60, 300, 1000, 3600, 10000, 100000};
    double length_s = (double)(playback->until_us - playback->from_us) * 1e-6;
    size_t i = 0;
    while (i + 1 < sizeof (speeds) / sizeof (speeds[0]) && length_s / speeds[i] > 150)
        i++;
    return speeds[i];
}

static void start (struct viewer *viewer, const struct view_request *request)
{
    struct playback now = player_playback (viewer->player);
    struct playback_change change = {
        .has_at = !isnan (request->at_s),
        .at_us = isfinite (request->at_s) ? llround (request->at_s * 1e6) : now.until_us,
        .has_speed = true,
        .speed = request->speed > 0 ? request->speed : suitable_speed (&now),
        .has_playing = true,
        .playing = !request->paused,
    };
    player_play (viewer->player, &change, clock_monotonic_us ());
}

static int open_viewer (struct viewer *viewer, const struct view_request *request,
                        char token[TOKEN_SIZE], struct pollux_error *err)
{
    struct page_file page;
    if (!page_find ("/", &page))
        return fail (err, -ENOTSUP,
                     "this pollux was built without npm and has no page; install npm (tools/setup "
                     "web) and build it again");
    int rc = player_open (request->path, &viewer->player, err);
    if (rc == 0)
        rc = reader_open_store (player_store (viewer->player), &viewer->reader, err);
    if (rc == 0)
        rc = tokens_make (ROLE_READ_ONLY, "viewer", token, &viewer->tokens, err);
    if (rc == 0)
        rc = open_api (viewer, err);
    if (rc == 0)
        rc = open_server (viewer, (int)request->port, err);
    return rc < 0 ? rc : open_signals (viewer, err);
}

static void close_viewer (struct viewer *viewer)
{
    http_server_free (viewer->server);
    api_free (viewer->api);
    tokens_free (viewer->tokens);
    reader_close (viewer->reader);
    player_close (viewer->player);
    if (viewer->signals >= 0)
        close (viewer->signals);
}

/* ---- Running ------------------------------------------------------------------------------ */

static int64_t earliest (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Milliseconds until something is due, rounded up. */
static int timeout_ms (const struct viewer *viewer)
{
    int64_t now = clock_monotonic_us ();
    int64_t due = earliest (http_server_due_us (viewer->server), api_due_us (viewer->api));
    due = earliest (due, player_due_us (viewer->player, now));
    if (due <= now)
        return 0;
    return due - now > 60000000 ? 60000 : (int)((due - now + 999) / 1000);
}

/* A damaged journal is shown up to the damage. */
static void step_player (struct viewer *viewer)
{
    enum player_moved moved;
    struct pollux_error err;
    if (player_step (viewer->player, clock_monotonic_us (), &moved, &err) < 0)
        fprintf (stderr, "pollux view: %s; it is shown up to there\n", err.text);
    if (moved == PLAYER_COMPACTED)
        fputs ("pollux view: the daemon has compacted this journal; it begins later now\n", stderr);
    if (moved == PLAYER_REPLACED || moved == PLAYER_COMPACTED)
        api_rewound (viewer->api);
    if (moved != PLAYER_STAYED)
        api_committed (viewer->api);
}

static int serve (struct viewer *viewer, struct pollux_error *err)
{
    struct pollfd files[] = {{.fd = http_server_fd (viewer->server), .events = POLLIN},
                             {.fd = viewer->signals, .events = POLLIN}};
    for (;;) {
        if (poll (files, 2, timeout_ms (viewer)) < 0 && errno != EINTR)
            return fail (err, -errno, "poll failed: %s", strerror (errno));
        if (files[1].revents)
            return 0;
        http_server_step (viewer->server, clock_monotonic_us ());
        step_player (viewer);
        if (api_due_us (viewer->api) <= clock_monotonic_us ())
            api_step (viewer->api);
        http_server_release (viewer->server, 0, NULL);
    }
}

static int view_command_run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct view_request request;
    struct viewer viewer = {.signals = -1};
    char token[TOKEN_SIZE];
    int rc = parse (options, &request, err);
    if (rc == 0)
        rc = open_viewer (&viewer, &request, token, err);
    if (rc == 0) {
        start (&viewer, &request);
        fprintf (out, "http://%s/#token=%s\n", http_server_address (viewer.server, 0), token);
        fflush (out);
        rc = serve (&viewer, err);
    }
    close_viewer (&viewer);
    return rc;
}

const struct command view_command = {
    .name = "view",
    .operands = "FILE.db",
    .summary = "play a journal in a browser",
    .description =
        "Serves the page of polluxd from a journal of a simulation (pollux sim --record) or of a\n"
        "daemon, on this machine only, and prints its address.  The page plays the journal at any\n"
        "speed, forwards and backwards; nothing can be changed.  Ctrl-C ends it.\n",
    COMMAND_OPTIONS (view_options),
    .run = view_command_run,
};
