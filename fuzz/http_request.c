/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the bytes that a client sends over a connection, in pieces, to a server with routes of
 * every kind.  The connection always ends when the client closes it or its time is up, and leaves
 * nothing behind.  A head with a NUL byte in it never gets to a handler.  The first byte selects the size of the
 * pieces and what the client does at the end.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

/* The result of one input. */
struct run {
    struct http_stream *stream;
    int streams, gone, handled;
};

static void handle_echo (void *self, struct http_request *request)
{
    size_t length;
    const char *name = http_param (request, "name"), *body = http_body (request, &length);
    char *copy = malloc (length + 1);
    (*(struct run **)self)->handled++;
    must (name != NULL && name[0] != '\0' && strchr (name, '/') == NULL);
    must (utf8_valid (name, strlen (name)) == strlen (name));
    must (length <= 4096 && body[length] == '\0');
    must (length == 0 || http_body_type (request) != 0);
    memcpy (copy, body, length);
    if (http_query (request, "a") != NULL)
        http_answer_header (request, "X-A", http_query (request, "a"));
    http_answer (request, 200, "text/plain", copy, length);
}

static void gone (void *self)
{
    struct run *run = *(struct run **)self;
    run->gone++;
    run->stream = NULL;
}

static void handle_stream (void *self, struct http_request *request)
{
    static const struct http_stream_owner owner = {.gone = gone};
    struct run *run = *(struct run **)self;
    struct http_stream *stream;
    run->handled++;
    if (http_stream_open (request, "text/plain", &owner, self, &stream) < 0)
        return;
    http_stream_push (stream, "data\n", 5);
    run->streams++;
    if (run->streams % 2 == 0) {
        http_stream_end (stream);
        run->gone++;
    } else {
        run->stream = stream;
    }
}

static int authorize (void *self, const char *token, struct http_identity *ret,
                      struct pollux_error *err)
{
    (void)self;
    if (strcmp (token, "T") != 0)
        return fail (err, -EACCES, "the token is not T");
    *ret = (struct http_identity){.role = 1, .name = "ann"};
    return 0;
}

static const struct http_route routes[] = {
    {HTTP_GET, "/e/{name}", handle_echo, 0, 0, "a b"},
    {HTTP_POST, "/e/{name}", handle_echo, 0, HTTP_JSON | HTTP_YAML, NULL},
    {HTTP_PUT, "/e/{name}", handle_echo, 1, HTTP_JSON, NULL},
    {HTTP_POST, "/d/{name}", handle_echo, 0, HTTP_DURABLE | HTTP_JSON, NULL},
    {HTTP_GET, "/s", handle_stream, 0, 0, NULL},
};

static void step (struct http_server *server, int64_t now_us)
{
    struct pollfd ready = {.fd = http_server_fd (server), .events = POLLIN};
    for (int i = 0; i == 0 || poll (&ready, 1, 0) > 0 || http_server_due_us (server) <= now_us; i++)
        http_server_step (server, now_us);
}

static void drain (int client)
{
    char bytes[4096];
    while (recv (client, bytes, sizeof (bytes), MSG_DONTWAIT) > 0)
        ;
}

static bool is_line_end (uint8_t byte)
{
    return byte == '\r' || byte == '\n';
}

static bool starts_with (const uint8_t *data, size_t size, const char *bytes, size_t length)
{
    return size >= length && memcmp (data, bytes, length) == 0;
}

/* True if the first head contains a NUL byte for which it must be refused.  A head ends with two line ends in a row.
 * libmicrohttpd takes some NUL bytes as part of a line end, which is harmless; for these the result is false:
 *
 *     NUL at the start of the input or of a line     the line is empty, so the head may end here
 *     after a line that begins with a colon          the line is taken as empty, too
 *     NUL LF                                         a line end, like CR LF
 *     NUL CR                                         the head may end here: NUL CR LF LF ends one
 *     NUL NUL LF LF                                  the same: these are as many bytes as CR LF CR LF */
static bool has_nul (const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size && is_line_end (data[at]))
        at++;
    if (at < size && (data[at] == '\0' || data[at] == ':'))
        return false;
    while (at < size) {
        bool pair = at + 1 < size && data[at] != '\n' && data[at + 1] == '\n';
        bool last = (at + 1 < size && is_line_end (data[at + 1])) ||
                    starts_with (data + at, size - at, "\0\0\n\n", 4);
        bool end = is_line_end (data[at]) || (data[at] == '\0' && last);
        if (!end && data[at] == '\0')
            return true;
        at += end && pair ? 2 : 1;
        if (end && at < size && (is_line_end (data[at]) || data[at] == '\0' || data[at] == ':'))
            return false;
    }
    return false;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct http_server *server;
    static struct run *current;
    static int64_t now_us;
    struct http_options options = {.routes = routes,
                                   .route_count = sizeof (routes) / sizeof (routes[0]),
                                   .limits = {.body_bytes = 4096, .header_bytes = 4096},
                                   .authorize = authorize,
                                   .self = &current};
    struct run run = {.streams = 0};
    int sockets[2];
    if (size == 0)
        return 0;
    current = &run;
    if (server == NULL)
        must (http_server_new (&options, now_us, &server, NULL) == 0);
    now_us += 1000 * 1000;
    step (server, now_us);
    must (socketpair (AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    must (http_server_add (server, sockets[0], NULL) == 0);
    size_t piece = (size_t)1 << (data[0] & 15);
    for (size_t at = 1; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        if (send (sockets[1], data + at, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        step (server, now_us);
        http_server_release (server, data[0] & 16 ? 507 : 0, "full");
        drain (sockets[1]);
    }
    must (http_server_held (server) <= 1);
    if (data[0] & 32)
        shutdown (sockets[1], SHUT_WR);
    if (data[0] & 64) /* it waits until its time is up, unless it reads a stream */
        for (int i = 0; i < 3; i++) {
            step (server, now_us += 100LL * 1000000);
            http_server_release (server, 0, NULL);
            drain (sockets[1]);
        }
    else
        step (server, now_us);
    http_server_release (server, 0, NULL);
    if (run.stream != NULL)
        must (http_stream_push (run.stream, "more\n", 5) == 0);
    close (sockets[1]);
    for (int i = 0; i < 3; i++) {
        step (server, now_us);
        http_server_release (server, 0, NULL);
    }
    struct http_counts counts = http_server_counts (server);
    must (counts.connections == 0 && counts.streams == 0 && http_server_busy (server) == 0);
    must (run.handled == 0 || !has_nul (data + 1, size - 1));
    must (run.gone == run.streams && counts.answers[0] == 0);
    must (http_server_due_us (server) == INT64_MAX);
    return 0;
}
