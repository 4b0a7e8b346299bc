/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers in pieces.  Pushed bytes are in a bounded buffer until libmicrohttpd asks for them; while the
 * buffer is empty, the connection is suspended.
 *
 * A stream of packets has no buffer of its own: it refers to packets that it shares with other streams, in both
 * encodings.
 *
 * A client must read in time: all bytes that are in the buffer when the deadline is set must have been
 * taken answer_s later.  Then the next deadline is set, or none if the buffer is empty.
 */
#include "http/http_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "http/header_check.h"
#include "http/packet.h"

enum { STREAM_BLOCK = 16 * 1024, SEND_BUFFER = 128 * 1024 };

static int streams_of (const struct http_server *server, const struct http_identity *identity)
{
    int count = 0;
    for (const struct connection *at = server->connections; at != NULL; at = at->next) {
        const struct http_request *request = at->request;
        if (request != NULL && request->stream != NULL &&
            request->identity.role == identity->role &&
            strcmp (request->identity.name, identity->name) == 0)
            count++;
    }
    return count;
}

int http_stream_open (struct http_request *request, const char *type,
                      const struct http_stream_owner *owner, void *self, struct http_stream **ret)
{
    struct http_server *server = request->connection->server;
    const struct http_limits *limits = &server->options.limits;
    if (request->status != 0)
        return -EALREADY;
    if (server->stopping || server->counts.streams >= limits->streams) {
        http_error (request, 503, "too many clients follow events or logs; try again later");
        return -EMFILE;
    }
    if (streams_of (server, &request->identity) >= limits->streams_per_name) {
        server->counts.limited++;
        http_error (request, 429,
                    "this token has %d streams of events or logs already; end one of them first",
                    limits->streams_per_name);
        return -EMFILE;
    }
    struct http_stream *stream = calloc (1, sizeof (*stream));
    if (stream == NULL) {
        http_error (request, 503, "not enough memory for the answer");
        return -ENOMEM;
    }
    stream->connection = request->connection;
    stream->server = server;
    stream->owner = owner;
    stream->self = self;
    server->counts.streams++;
    request->stream = stream;
    http_answer (request, 200, type, NULL, 0);
    *ret = stream;
    return 0;
}

int http_stream_open_packets (struct http_request *request, const char *type,
                              const struct http_stream_owner *owner, void *self,
                              struct http_stream **ret)
{
    struct http_stream *stream;
    int code = http_stream_open (request, type, owner, self, &stream);
    if (code < 0)
        return code;
    stream->has_packets = true;
    stream->gzip = check_gzip (http_header (request, "Accept-Encoding"));
    http_answer_header (request, "Vary", "Accept-Encoding");
    if (stream->gzip)
        http_answer_header (request, "Content-Encoding", "gzip");
    *ret = stream;
    return 0;
}

size_t http_stream_room (const struct http_stream *stream)
{
    return stream->server->options.limits.stream_bytes - stream->used;
}

/* Make space for length more bytes after the used ones. */
static bool make_room (struct http_stream *stream, size_t length)
{
    if (stream->size - stream->start - stream->used >= length)
        return true;
    if (stream->size - stream->used >= length) {
        memmove (stream->data, stream->data + stream->start, stream->used);
        stream->start = 0;
        return true;
    }
    size_t size = stream->used + length;
    if (size < 2 * stream->size)
        size = 2 * stream->size;
    char *data = malloc (size);
    if (data == NULL)
        return false;
    if (stream->used > 0)
        memcpy (data, stream->data + stream->start, stream->used);
    free (stream->data);
    stream->data = data;
    stream->start = 0;
    stream->size = size;
    return true;
}

/* Set the deadline for all bytes that are in the buffer now. */
static void set_deadline (struct http_stream *stream)
{
    struct http_server *server = stream->server;
    struct deadline *deadline = &stream->connection->deadline;
    stream->needs_deadline = false;
    if (stream->connection->closing)
        return;
    stream->goal = stream->pushed;
    if (stream->used == 0)
        deadline_clear (&server->deadlines, deadline);
    else
        deadline_set (&server->deadlines, deadline,
                      server->now_us + (int64_t)(server->options.limits.answer_s * 1e6));
}

static void add_bytes (struct http_stream *stream, size_t length)
{
    /* server->now_us may be old: the next step sets the deadline. */
    if (stream->used == 0)
        stream->needs_deadline = stream->server->needs_deadline = true;
    stream->used += length;
    stream->pushed += length;
    connection_resume (stream->connection);
}

int http_stream_push (struct http_stream *stream, const void *bytes, size_t length)
{
    if (stream->has_packets || length > http_stream_room (stream))
        return -ENOBUFS;
    if (stream->connection == NULL || length == 0)
        return 0; /* gone will be called */
    if (!make_room (stream, length))
        return -ENOBUFS;
    memcpy (stream->data + stream->start + stream->used, bytes, length);
    add_bytes (stream, length);
    return 0;
}

static size_t packet_size (const struct http_stream *stream, const struct http_packet *packet)
{
    return stream->gzip ? packet->blocks_length : packet->length;
}

int http_stream_send (struct http_stream *stream, struct http_packet *packet)
{
    if (!stream->has_packets || stream->packet_count == HTTP_PACKETS_MAX)
        return -ENOBUFS;
    if (stream->connection == NULL || packet->length == 0)
        return 0; /* gone will be called */
    if (stream->gzip && packet_compress (packet) < 0)
        return -ENOMEM;
    if (stream->gzip)
        gzip_add (&stream->sum, &packet->sum);
    stream->packets[stream->packet_count++] = packet_hold (packet);
    add_bytes (stream, packet_size (stream, packet));
    return 0;
}

bool http_stream_is_busy (const struct http_stream *stream)
{
    return stream->used > 0;
}

void http_stream_end (struct http_stream *stream)
{
    stream->owner = NULL;
    stream->ended = true;
    if (stream->connection != NULL)
        connection_resume (stream->connection);
}

void http_stream_drop (struct http_stream *stream)
{
    stream->owner = NULL;
    stream->dropped = true;
    if (stream->connection != NULL)
        connection_cut (stream->connection);
}

/* Copy up to size bytes of the first packet, and drop it at its end. */
static size_t take_packet (struct http_stream *stream, char *buffer, size_t size)
{
    struct http_packet *packet = stream->packets[0];
    size_t left = packet_size (stream, packet) - stream->packet_at;
    size_t length = left < size ? left : size;
    memcpy (buffer, (stream->gzip ? packet->blocks : packet->text) + stream->packet_at, length);
    stream->packet_at += length;
    if (length == left) {
        http_packet_free (packet);
        stream->packet_at = 0;
        memmove (stream->packets, stream->packets + 1,
                 (size_t)--stream->packet_count * sizeof (stream->packets[0]));
    }
    return length;
}

static size_t take_data (struct http_stream *stream, char *buffer, size_t size)
{
    size_t length = stream->used < size ? stream->used : size;
    memcpy (buffer, stream->data + stream->start, length);
    stream->start += length;
    if (length == stream->used) {
        free (stream->data);
        stream->data = NULL;
        stream->start = stream->size = 0;
    }
    return length;
}

/* The head and the tail of a compressed stream; 0: it is in between, or not compressed. */
static size_t take_frame (struct http_stream *stream, char *buffer)
{
    if (!stream->gzip || stream->tail_sent)
        return 0;
    if (!stream->head_sent && (stream->used > 0 || stream->ended)) {
        memcpy (buffer, gzip_head, GZIP_HEAD_SIZE);
        stream->head_sent = true;
        return GZIP_HEAD_SIZE;
    }
    if (stream->used > 0 || !stream->ended)
        return 0;
    gzip_tail (&stream->sum, (unsigned char *)buffer);
    stream->tail_sent = true;
    return GZIP_TAIL_SIZE;
}

/* MHD asks for up to size bytes, some thousand; the head and the tail of a compressed stream are not divided. */
static ssize_t stream_read (void *self, uint64_t position, char *buffer, size_t size)
{
    struct http_stream *stream = self;
    (void)position;
    if (stream->dropped || stream->connection->closing)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (size < GZIP_HEAD_SIZE || size < GZIP_TAIL_SIZE)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t frame = take_frame (stream, buffer);
    if (frame > 0)
        return (ssize_t)frame;
    if (stream->used == 0 && stream->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (stream->used == 0) {
        connection_suspend (stream->connection);
        return 0;
    }
    size_t length =
        stream->has_packets ? take_packet (stream, buffer, size) : take_data (stream, buffer, size);
    stream->used -= length;
    stream->taken += length;
    if (stream->used == 0)
        stream->notify_drained = stream->server->notify = true;
    if (stream->taken >= stream->goal)
        set_deadline (stream);
    return (ssize_t)length;
}

struct MHD_Response *stream_response (struct http_stream *stream)
{
    /* Bytes in the kernel's buffer count as read, so its size is limited instead of growing to
     * megabytes.  (A Unix socket's buffer has a fixed size.) */
    setsockopt (stream->connection->fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BUFFER}, sizeof (int));
    return MHD_create_response_from_callback (MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, stream,
                                              NULL);
}

void stream_free (struct http_stream *stream)
{
    if (stream == NULL)
        return;
    for (int i = 0; i < stream->packet_count; i++)
        http_packet_free (stream->packets[i]);
    free (stream->data);
    free (stream);
}

void stream_leave (struct http_stream *stream)
{
    struct http_server *server = stream->server;
    server->counts.streams--;
    stream->connection = NULL;
    stream->used = 0;
    stream->next_gone = server->gone;
    server->gone = stream;
}

/* The connection's stream; NULL: it has none. */
static struct http_stream *stream_of (const struct connection *connection)
{
    return connection->request != NULL ? connection->request->stream : NULL;
}

void http_server_cut_off (struct http_server *server, const char *name)
{
    for (struct connection *at = server->connections; at != NULL; at = at->next)
        if (stream_of (at) != NULL && strcmp (at->request->identity.name, name) == 0)
            connection_cut (at);
}

void streams_set_deadlines (struct http_server *server)
{
    if (!server->needs_deadline)
        return;
    server->needs_deadline = false;
    for (struct connection *at = server->connections; at != NULL; at = at->next) {
        struct http_stream *stream = stream_of (at);
        if (stream != NULL && stream->needs_deadline)
            set_deadline (stream);
    }
}

void streams_notify (struct http_server *server)
{
    while (server->notify) {
        server->notify = false;
        /* Owners may use all stream functions here; the list of connections changes in MHD_run only. */
        for (struct connection *at = server->connections; at != NULL; at = at->next) {
            struct http_stream *stream = stream_of (at);
            if (stream == NULL)
                continue;
            const struct http_stream_owner *owner = stream->owner;
            if (stream->notify_gone) {
                stream->notify_gone = false;
                stream->owner = NULL;
                if (owner != NULL)
                    owner->gone (stream->self);
            } else if (stream->notify_drained) {
                stream->notify_drained = false;
                if (owner != NULL && owner->drained != NULL && stream->used == 0)
                    owner->drained (stream->self);
            }
        }
    }
    for (struct http_stream *stream; (stream = server->gone) != NULL;) {
        const struct http_stream_owner *owner = stream->owner;
        server->gone = stream->next_gone;
        stream->owner = NULL;
        if (owner != NULL)
            owner->gone (stream->self);
        stream_free (stream);
    }
}
