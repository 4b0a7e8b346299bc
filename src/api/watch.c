/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of GET /v1/watch, and when they get messages: at most three a second, and one after ten seconds without
 * changes.  A client is
 *
 *     new       it gets a snapshot: a piece of its own (who it is) and one that all new clients share
 *     behind    it knows the cluster up to an event: it gets what has changed since, or a snapshot if that is
 *               much or not known
 *     current   it has got all messages so far, and gets the next one
 *
 * The number of a message is that of the last event.  Reports of agents change rows without an event, so a client that
 * comes back by number gets the rows again that changed at this event.
 */
#include "api/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "api/watch_messages.h"
#include "store/reader.h"
#include "wire/event.h"

static const int64_t PACE_US = 334000, QUIET_US = 10000000;

/* A snapshot serves clients for so long; they then get what has changed since it was made.  A client has a minute to read
 * it (answer_s), so at most 31 snapshots of 1 MB are kept at a time. */
static const int64_t SNAPSHOT_US = 2000000;

/* 100 kB for one client; with more, the snapshot that all clients share. */
enum { CATCH_UP_ROWS = 500 };

enum watcher_state { WATCHER_NEW, WATCHER_BEHIND, WATCHER_CURRENT };

struct watcher {
    struct follower follower;
    enum watcher_state state;
    struct watch_known known; /* what it has, by its last message or by the request */
    char name[HTTP_NAME_SIZE];
    unsigned role;
};

struct watch {
    struct watch_rows rows;
    int64_t committed; /* the last event that is durable */
    int64_t number;    /* the last event of the last messages */
    int64_t sent_us;   /* when they were sent */
    int64_t step_us;   /* when there was something to send the last time */
    int64_t due_us;    /* when the next ones are; INT64_MAX: there is no client */
    bool rewound;
    struct watch_told told;
    struct http_packet *snapshot; /* for new clients; NULL: there is none */
    struct watch_known snapshot_known;
    int64_t snapshot_us;
};

struct watch *watch_new (void)
{
    struct watch *watch = calloc (1, sizeof (*watch));
    if (watch)
        watch->due_us = INT64_MAX;
    return watch;
}

static void drop_snapshot (struct watch *watch)
{
    http_packet_free (watch->snapshot);
    watch->snapshot = NULL;
}

static void forget (struct watch *watch)
{
    watch_rows_clear (&watch->rows);
    watch_told_clear (&watch->told);
    drop_snapshot (watch);
}

void watch_free (struct watch *watch)
{
    if (!watch)
        return;
    forget (watch);
    free (watch);
}

static const struct change_log *log_of (const struct api *api)
{
    return &api->options.status->changes;
}

/* ---- Watchers -------------------------------------------------------------------------------- */

static void wake (struct api *api)
{
    struct watch *watch = api->watch;
    int64_t now_us = api_pace_us (api), due_us = watch->step_us + PACE_US;
    due_us = due_us > now_us ? due_us : now_us;
    watch->due_us = watch->due_us < due_us ? watch->due_us : due_us;
}

/* The stream was opened or is drained, or events were committed. */
static bool feed (struct follower *follower)
{
    if (((struct watcher *)follower)->state != WATCHER_CURRENT &&
        !http_stream_is_busy (follower->stream))
        wake (follower->api);
    return true;
}

static void free_watcher (struct follower *follower)
{
    free (follower);
}

/* The next watcher of the list, from this follower on; NULL: none. */
static struct watcher *watcher_from (struct follower *follower)
{
    while (follower && follower->feed != feed)
        follower = follower->next;
    return (struct watcher *)follower;
}

static struct watcher *next_watcher (const struct watcher *watcher)
{
    return watcher_from (watcher->follower.next);
}

void watch_committed (struct api *api)
{
    struct watch *watch = api->watch;
    watch->committed = log_of (api)->number;
    if (watch->due_us == INT64_MAX) /* no client */
        return;
    if (watch->committed != watch->number)
        wake (api);
    watch_step (api);
}

void watch_reported (struct api *api, int job)
{
    watch_rows_note (&api->watch->rows, job);
    if (api->watch->due_us != INT64_MAX)
        wake (api);
}

void watch_restart (struct api *api)
{
    api->watch->rewound = true;
    if (api->watch->due_us != INT64_MAX)
        wake (api);
}

int64_t watch_due_us (const struct api *api)
{
    return api->watch->due_us;
}

/* ---- Sending ----------------------------------------------------------------------------------- */

/* Messages of one step. */
struct messages {
    struct watch *watch;
    struct watch_state state;
    struct http_packet *change;
};

static struct watch_known known_now (const struct messages *messages)
{
    return (struct watch_known){messages->state.rows->refresh, messages->state.number};
}

/* Make sure that there is a snapshot from which a client can go on. */
static int prepare_snapshot (struct messages *messages)
{
    struct watch *watch = messages->watch;
    if (watch->snapshot &&
        watch_rows_count_since (&watch->rows, &watch->snapshot_known) <= CATCH_UP_ROWS)
        return 0;
    drop_snapshot (watch);
    watch->snapshot = watch_snapshot (&messages->state);
    watch->snapshot_known = known_now (messages);
    watch->snapshot_us = watch->step_us;
    return watch->snapshot ? 0 : -ENOMEM;
}

static int send_snapshot (struct messages *messages, struct watcher *watcher)
{
    struct watch *watch = messages->watch;
    struct http_packet *start = NULL;
    if (prepare_snapshot (messages) == 0)
        start = watch_snapshot_start (watch->snapshot_known.number, watcher->name, watcher->role);
    int rc = start ? http_stream_send (watcher->follower.stream, start) : -ENOMEM;
    http_packet_free (start);
    if (rc == 0)
        rc = http_stream_send (watcher->follower.stream, watch->snapshot);
    watcher->known = watch->snapshot_known;
    /* An older one: when it has read it, it gets what has changed since. */
    watcher->state = watch->snapshot_us == watch->step_us ? WATCHER_CURRENT : WATCHER_BEHIND;
    return rc;
}

static int send_catch_up (const struct messages *messages, struct watcher *watcher)
{
    struct http_packet *packet = watch_catch_up (&messages->state, &watcher->known);
    int rc = packet ? http_stream_send (watcher->follower.stream, packet) : -ENOMEM;
    http_packet_free (packet);
    watcher->known = known_now (messages);
    watcher->state = WATCHER_CURRENT;
    return rc;
}

/* Can the client go on from what it has with a message of its own? */
static bool can_catch_up (const struct messages *messages, const struct watcher *watcher)
{
    const struct watch_state *state = &messages->state;
    int64_t number = watcher->known.number;
    return number >= log_of (state->api)->since && number <= state->number &&
           watch_rows_count_since (state->rows, &watcher->known) <= CATCH_UP_ROWS;
}

/* The next message for a client that has got all others. */
static int send_change (const struct messages *messages, struct watcher *watcher)
{
    int rc = messages->change ? http_stream_send (watcher->follower.stream, messages->change) : 0;
    if (rc == 0)
        watcher->known = known_now (messages);
    if (rc != -ENOBUFS)
        return rc;
    watcher->state = WATCHER_BEHIND; /* it goes on when it has read what is on its way */
    return 0;
}

static void serve (struct messages *messages, struct watcher *watcher)
{
    int rc = 0;
    if (watcher->state == WATCHER_CURRENT)
        rc = send_change (messages, watcher);
    else if (http_stream_is_busy (watcher->follower.stream))
        return;
    else if (watcher->state == WATCHER_BEHIND && can_catch_up (messages, watcher))
        rc = send_catch_up (messages, watcher);
    else
        rc = send_snapshot (messages, watcher);
    if (rc < 0)
        follower_drop (&watcher->follower);
}

/* The cluster was replaced by an earlier state: begin again. */
static void start_again (struct api *api)
{
    struct watch *watch = api->watch;
    forget (watch);
    watch->rewound = false;
    for (struct watcher *watcher = watcher_from (api->followers); watcher;
         watcher = next_watcher (watcher))
        watcher->state = WATCHER_NEW;
}

/* Clients that would have got a message which could not be made. */
static void fall_behind (struct api *api)
{
    for (struct watcher *watcher = watcher_from (api->followers); watcher;
         watcher = next_watcher (watcher))
        if (watcher->state == WATCHER_CURRENT)
            watcher->state = WATCHER_BEHIND;
}

static void serve_all (struct api *api, struct messages *messages)
{
    struct watcher *next;
    for (struct watcher *watcher = watcher_from (api->followers); watcher; watcher = next) {
        next = next_watcher (watcher);
        serve (messages, watcher);
    }
}

static void send_messages (struct api *api, int64_t now_us)
{
    struct watch *watch = api->watch;
    bool empty = true;
    watch->step_us = now_us;
    watch->due_us = now_us + PACE_US; /* without memory: try again */
    if (watch->rewound || log_of (api)->number < watch->number)
        start_again (api);
    struct present present = api_present (api);
    int64_t before = watch->rows.begun ? watch->rows.seen : log_of (api)->number;
    if (watch_rows_refresh (&watch->rows, &present, log_of (api)) < 0) {
        fall_behind (api);
        return;
    }
    watch->number = log_of (api)->number;
    struct messages messages = {
        .watch = watch, .state = {api, &present, &watch->rows, &watch->told, watch->number}};
    messages.change = watch_change (&messages.state, before, &empty);
    if (!messages.change && !empty)
        fall_behind (api);
    if (empty && now_us < watch->sent_us + QUIET_US) {
        http_packet_free (messages.change);
        messages.change = NULL;
    }
    if (now_us >= watch->snapshot_us + SNAPSHOT_US)
        drop_snapshot (watch);
    serve_all (api, &messages);
    if (messages.change)
        watch->sent_us = now_us;
    /* Of a recorded cluster the time may have changed. */
    if (!watch->told.playback && watch->sent_us + QUIET_US > watch->due_us)
        watch->due_us = watch->sent_us + QUIET_US;
    http_packet_free (messages.change);
}

void watch_step (struct api *api)
{
    struct watch *watch = api->watch;
    int64_t now_us = api_pace_us (api);
    if (now_us < watch->due_us)
        return;
    if (!watcher_from (api->followers)) {
        watch->due_us = INT64_MAX;
        drop_snapshot (watch);
    } else if (watch->committed == log_of (api)->number) { /* else the commit calls this again */
        send_messages (api, now_us);
    }
}

/* ---- The request ------------------------------------------------------------------------------- */

/* The time of an event of the journal. */
struct event_time {
    int64_t number, at_us;
};

static bool take_time (void *self, int64_t number, const struct wire_row *row)
{
    struct event_time *time = self;
    if (number == time->number)
        time->at_us = row->at_us;
    return true;
}

/* Is the event with this number, whose mark the client has, one of this journal?  It may be of another one with the same
 * numbers: of a state directory that was made anew, or restored from a backup. */
static bool is_of_this_journal (const struct api *api, int64_t number, const char *mark)
{
    const struct api_options *options = &api->options;
    struct event_time time = {number, -1};
    char right[32];
    if (number == log_of (api)->number)
        time.at_us = options->cluster->now_us;
    else if (number > 0 && options->reader)
        reader_rows (options->reader, number - 1, 1, take_time, &time, NULL);
    snprintf (right, sizeof (right), WATCH_MARK, (unsigned long long)time.at_us);
    return time.at_us >= 0 && strcmp (mark, right) == 0;
}

void api_watch (struct api *api, struct http_request *request)
{
    int64_t after = -1;
    if (api_query_int (api, request, "after", 0, INT64_MAX, &after) < 0 ||
        api_last_event (api, request, &after) < 0)
        return;
    const char *mark = http_query (request, "mark");
    if (after >= 0 && mark && !is_of_this_journal (api, after, mark))
        after = -1;
    struct watcher *watcher = calloc (1, sizeof (*watcher));
    if (!watcher) {
        api_refuse (api, request, 503, "not enough memory");
        return;
    }
    const struct http_identity *asker = http_identity (request);
    watcher->follower.feed = feed;
    watcher->follower.free = free_watcher;
    watcher->follower.packets = true;
    watcher->state = after >= 0 ? WATCHER_BEHIND : WATCHER_NEW;
    watcher->known = (struct watch_known){.refresh = -1, .number = after};
    watcher->role = asker->role;
    memcpy (watcher->name, asker->name, sizeof (watcher->name));
    api_follow (api, request, "text/event-stream", &watcher->follower);
}
