/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux events: print the daemon's journal, one line per event.
 *
 * The daemon sends server-sent events: lines "field: text", and an empty line after each event.
 * Events are numbered: after a lost connection the stream continues with the next number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "cli/terminal.h"

enum { EVENTS_FOLLOW = 'f', EVENTS_AFTER = CLIENT_OPTION_NEXT };

static const struct command_option events_options[] = {
    {"follow", NULL, EVENTS_FOLLOW, "keep printing new events"},
    {"after", "SEQ", EVENTS_AFTER, "only events after this number (0)"},
    {"json", NULL, CLIENT_OPTION_JSON, "print each event as a line of JSON"},
    CLIENT_OPTION_SERVER_ROW,
};

/* A SUBMIT event has the job's command and environment, at most a few megabytes. */
#define LINE_LIMIT ((size_t)64 << 20)

struct event_reader {
    FILE *out;
    bool json, terminal;
    size_t width;
    int64_t last; /* number of the last printed event */
    char *line;   /* so far */
    size_t length, capacity;
};

/* ---- Printing --------------------------------------------------------------------------------- */

/* One line per event, cut to the width of a terminal.  The body is printed as JSON, which escapes
 * control characters; the rest of the event is disarmed. */
static int print_event (struct event_reader *reader, json_t *event, struct pollux_error *err)
{
    char head[256];
    char *body = json_dumps (json_object_get (event, "body"), JSON_COMPACT | JSON_ENCODE_ANY);
    int rc = answer_disarm (event, err);
    if (rc < 0) {
        free (body);
        return rc;
    }
    if (body)
        utf8_disarm (body);
    int used =
        snprintf (head, sizeof (head), "%6s  %s  %-7.16s  %-16.63s ",
                  answer_count (answer_number (event, "seq")).text,
                  answer_time (answer_number (event, "at")).text, answer_text (event, "type"),
                  answer_or_dash (answer_text (event, "job")).text);
    const char *text = body ? body : "";
    size_t length = strlen (text), room = reader->width - (used > 0 ? (size_t)used : 0);
    if (reader->terminal && (size_t)used + 8 < reader->width && utf8_count (text, length) > room)
        fprintf (reader->out, "%s%.*s...\n", head, (int)utf8_skip (text, length, room - 3), text);
    else
        fprintf (reader->out, "%s%s\n", head, text);
    free (body);
    return 0;
}

static int take_event (struct event_reader *reader, const char *text, struct pollux_error *err)
{
    json_t *event = json_loads (text, 0, NULL);
    double seq = answer_number (event, "seq");
    int rc = 0;
    if (!event)
        return fail (err, -EHOSTUNREACH, "an event of the daemon is no JSON");
    if (reader->json)
        rc = answer_json_line (json_incref (event), reader->out, err);
    else
        rc = print_event (reader, event, err);
    json_decref (event);
    if (rc == 0 && fflush (reader->out) != 0)
        rc = fail (err, -EIO, "the output cannot be written");
    if (seq >= 1 && seq < 9e15)
        reader->last = (int64_t)seq;
    return rc;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static int keep (struct event_reader *reader, const char *bytes, size_t length,
                 struct pollux_error *err)
{
    if (length > LINE_LIMIT - reader->length)
        return fail (err, -EHOSTUNREACH, "an event of the daemon is too long");
    if (reader->length + length + 1 > reader->capacity) {
        size_t capacity = 2 * reader->capacity + length + 1;
        char *line = realloc (reader->line, capacity);
        if (!line)
            return fail (err, -ENOMEM, "not enough memory for an event");
        reader->line = line;
        reader->capacity = capacity;
    }
    memcpy (reader->line + reader->length, bytes, length);
    reader->length += length;
    reader->line[reader->length] = '\0';
    return 0;
}

/* Only data lines matter: they repeat the contents of the others. */
static int take_line (struct event_reader *reader, struct pollux_error *err)
{
    static const char data[] = "data:";
    int rc = 0;
    if (reader->length > 0 && reader->line[reader->length - 1] == '\r')
        reader->line[reader->length - 1] = '\0';
    if (reader->length > 0 && strncmp (reader->line, data, strlen (data)) == 0)
        rc = take_event (reader, reader->line + strlen (data), err);
    reader->length = 0;
    return rc;
}

static int take (void *self, const char *bytes, size_t length, struct pollux_error *err)
{
    struct event_reader *reader = self;
    int rc = 0;
    while (rc == 0 && length > 0) {
        const char *end = memchr (bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;
        rc = keep (reader, bytes, part, err);
        if (rc == 0 && end)
            rc = take_line (reader, err);
        part += end != NULL;
        bytes += part;
        length -= part;
    }
    return rc;
}

/* The stream ends if the daemon stops.  It may start again: keep trying. */
static int read_events (struct client *client, struct event_reader *reader, bool follow,
                        struct pollux_error *err)
{
    bool connected = false;
    for (;; sleep (1)) {
        char path[96];
        int64_t before = reader->last;
        snprintf (path, sizeof (path), "/v1/events?after=%lld&follow=%d", (long long)reader->last,
                  follow);
        reader->length = 0;
        int rc =
            client_stream (client, path, (struct client_sink){.take = take, .self = reader}, err);
        connected |= rc == 0 || reader->last > before;
        bool lost = rc == 0 || rc == -EHOSTUNREACH;
        if (!follow || !lost || !connected)
            return rc;
        if (rc == 0 || reader->last > before)
            fprintf (stderr, "pollux events: the daemon has stopped; waiting for it\n");
    }
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    struct event_reader reader = {.out = out};
    struct client *client = NULL;
    bool follow = false;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        follow |= id == EVENTS_FOLLOW;
        if (id == EVENTS_AFTER)
            rc = options_int64 (options, 0, INT64_MAX, &reader.last, err);
        else
            rc = client_options_take (&request, options, id);
    }
    if (rc == 0)
        rc = client_options_connect (options, &request, &client, err);
    reader.json = request.json;
    reader.terminal = isatty (fileno (out));
    reader.width = (size_t)terminal_of (out).width;
    if (rc == 0)
        rc = read_events (client, &reader, follow, err);
    free (reader.line);
    client_close (client);
    return rc;
}

const struct command events_command = {
    .name = "events",
    .operands = "",
    .summary = "print the events of the daemon's journal",
    .description =
        "Prints the events of the daemon's journal: number, time, type, job, contents.\n"
        "With --follow it keeps printing new events, also after a restart of the daemon.",
    COMMAND_OPTIONS (events_options),
    .run = run,
};
