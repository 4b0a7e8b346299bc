/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/events: the journal as server-sent events.  The state of a follower is the number of the last
 * event sent; the journal itself is the queue.  A slow client delays no other and loses no event: it
 * gets the next rows when its buffer is empty, and after a disconnect it continues with Last-Event-ID.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "api/tokens.h"
#include "store/reader.h"

/* Rows per call, so that one client does not delay the others. */
enum { EVENTS_BATCH = 200 };

/* A larger body (a plan of many thousand jobs) does not fit into the buffer and is sent as null. */
static const size_t body_most = (size_t)128 << 10;

struct events {
    struct follower follower;
    int64_t seq;           /* of the last one sent */
    bool follow, secrets;  /* may see all environments */
    char owner[NAME_SIZE]; /* may see those of this owner's jobs */
    bool full;             /* the stream's buffer is full */
};

static void events_free (struct follower *follower)
{
    free (follower);
}

/* ---- Rows to events ----------------------------------------------------------------------- */

/* Remove the environment from a submission, unless the client owns the job. */
static void hide_environment (const struct events *events, json_t *body)
{
    json_t *launch = json_object_get (body, "launch");
    if (!json_is_object (launch))
        return;
    const char *owner = json_string_value (json_object_get (launch, "owner"));
    if (owner && events->owner[0] && strcmp (owner, events->owner) == 0)
        return;
    json_object_set_new (launch, "environment", json_null ());
}

/* The body as text: as in the journal, or without the environment.  NULL: no memory. */
static char *write_body (const struct events *events, const struct wire_row *row)
{
    bool hides = !events->secrets && strcmp (row->type, event_names[EVENT_SUBMIT]) == 0;
    if (row->length > body_most)
        return strdup ("null");
    if (!hides && !memchr (row->body, '\n', row->length)) /* a line of SSE data has no line break */
        return strndup (row->body, row->length);
    json_t *body = json_loadb (row->body, row->length, 0, NULL);
    if (body && hides)
        hide_environment (events, body);
    char *text = body ? json_dumps (body, JSON_COMPACT) : strdup ("null");
    json_decref (body);
    return text;
}

/* "id: 7\nevent: SUBMIT\ndata: {...}\n\n", from malloc; NULL: no memory. */
static char *write_event (const struct events *events, int64_t seq, const struct wire_row *row)
{
    json_t *data = json_pack ("{s:I, s:f, s:s, s:s?}", "seq", (json_int_t)seq, "at",
                              (double)row->at_us * 1e-6, "type", row->type, "job", row->job);
    char *head = data ? json_dumps (data, JSON_COMPACT) : NULL, *body = write_body (events, row);
    char *event = NULL;
    json_decref (data);
    if (head && body &&
        asprintf (&event, "id: %lld\nevent: %s\ndata: %.*s,\"body\":%s}\n\n", (long long)seq,
                  row->type, (int)strlen (head) - 1, head, body) < 0)
        event = NULL;
    free (head);
    free (body);
    return event;
}

/* Put a COMPACTED event before the event: it stands for events that were compacted before they were
 * sent. */
static char *write_gap (int64_t seq, char *event)
{
    char *both = NULL;
    if (event && asprintf (&both,
                           "id: %lld\nevent: COMPACTED\ndata: {\"seq\":%lld,\"at\":null,"
                           "\"type\":\"COMPACTED\",\"job\":null,\"body\":null}\n\n%s",
                           (long long)seq - 1, (long long)seq - 1, event) < 0)
        both = NULL;
    free (event);
    return both;
}

static bool take_row (void *self, int64_t seq, const struct wire_row *row)
{
    struct events *events = self;
    char *text = write_event (events, seq, row);
    if (seq > events->seq + 1)
        text = write_gap (seq, text);
    bool taken = text && http_stream_push (events->follower.stream, text, strlen (text)) == 0;
    free (text);
    if (taken)
        events->seq = seq;
    else
        events->full = true;
    return taken;
}

static bool events_feed (struct follower *follower)
{
    struct events *events = (struct events *)follower;
    struct reader *reader = follower->api->options.reader;
    events->full = false;
    int taken = reader_rows (reader, events->seq, EVENTS_BATCH, take_row, events, NULL);
    if (taken < 0)
        return follower_drop (follower);
    /* After a full buffer or a whole batch, drained calls this again.  Otherwise all events were sent,
     * and a client that does not follow is done. */
    if (!events->follow && taken < EVENTS_BATCH && !events->full)
        return follower_end (follower);
    return true;
}

/* ---- The request -------------------------------------------------------------------------- */

/* The number after which to begin.  By default: follow=1: the last event; follow=0: 0. */
static int find_start (struct api *api, struct http_request *request, bool follow, int64_t *ret)
{
    int64_t first = 1, last = 0, after = -1;
    struct pollux_error err;
    if (reader_range (api->options.reader, &first, &last, &err) < 0) {
        api_refuse (api, request, 503, "%s", err.text);
        return -EIO;
    }
    /* A browser that reconnects repeats the URL and sends the number of its last event. */
    if (api_query_int (api, request, "after", 0, INT64_MAX, &after) < 0 ||
        api_last_event (api, request, &after) < 0)
        return -EINVAL;
    *ret = after >= 0 ? after : follow ? last : 0;
    return 0;
}

void api_events (struct api *api, struct http_request *request)
{
    bool follow = true;
    int64_t start = 0;
    if (!api->options.reader) {
        api_refuse (api, request, 503, "there is no journal to read");
        return;
    }
    if (api_query_flag (api, request, "follow", &follow) < 0 ||
        find_start (api, request, follow, &start) < 0)
        return;
    struct events *events = calloc (1, sizeof (*events));
    if (!events) {
        api_refuse (api, request, 503, "not enough memory");
        return;
    }
    const struct http_identity *asker = http_identity (request);
    events->follower.feed = events_feed;
    events->follower.free = events_free;
    events->seq = start;
    events->follow = follow;
    events->secrets = asker->role == ROLE_ADMIN;
    if (asker->role == ROLE_USER)
        snprintf (events->owner, sizeof (events->owner), "%s", asker->name);
    api_follow (api, request, "text/event-stream", &events->follower);
}
