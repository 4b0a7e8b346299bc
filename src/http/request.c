/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a request: libmicrohttpd reads the request line (request_new), then calls request_handle
 * with the head, for each piece of the body, at the end of the body, and again after a suspension.  A
 * request that is refused for its head is answered after its body was read and discarded, so that the
 * client gets the answer; only a large body is not read.
 */
#include "http/http_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "http/header_check.h"

void *request_new (void *self, const char *uri, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info != NULL ? info->socket_context : NULL;
    struct http_request *request = calloc (1, sizeof (*request));
    size_t length = strlen (uri), path = strcspn (uri, "?");
    (void)self;
    if (connection == NULL || request == NULL ||
        (request->raw = malloc (path + 1 + 2 * (length + 1))) == NULL) {
        free (request);
        return NULL;
    }
    request->connection = connection;
    request->uri = uri;
    request->uri_length = length;
    memcpy (request->raw, uri, path);
    request->raw[path] = '\0';
    request->parsed = request->raw + path + 1;
    memcpy (request->parsed, uri, length + 1);
    request->whole = request->parsed + length + 1;
    memcpy (request->whole, uri, length + 1);
    connection->request = request;
    return request;
}

static void body_free (struct http_request *request)
{
    request->connection->server->bodies_bytes -= request->size;
    free (request->body);
    request->body = NULL;
    request->length = request->size = 0;
}

void request_free (struct http_request *request)
{
    if (request == NULL)
        return;
    request->connection->request = NULL;
    signed_forget (request);
    if (request->stream != NULL)
        stream_leave (request->stream);
    body_free (request);
    answer_clear (request);
    free (request->raw);
    free (request);
}

void request_completed (void *self, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code)
{
    struct http_request *request = *context;
    (void)self;
    (void)mhd;
    (void)code;
    *context = NULL;
    if (request == NULL)
        return;
    struct connection *connection = request->connection;
    request_free (request);
    if (!connection->closing)
        connection_phase (connection, PHASE_HEAD);
}

/* How many bytes to allocate: the announced length, or twice as many as before. */
static size_t body_size (const struct http_request *request, size_t wanted)
{
    const struct http_limits *limits = &request->connection->server->options.limits;
    size_t size = 2 * request->size;
    if (request->head.length != NULL)
        size = (size_t)strtoull (request->head.length, NULL, 10) + 1;
    if (size > limits->body_bytes + 1)
        size = limits->body_bytes + 1;
    return size > wanted ? size : wanted;
}

/* Append a piece of the body. */
static void body_take (struct http_request *request, const char *data, size_t length)
{
    struct http_server *server = request->connection->server;
    const struct http_limits *limits = &server->options.limits;
    if (request->length + length > limits->body_bytes) {
        http_error (request, 413, "the body is too large: at most %zu bytes are taken",
                    limits->body_bytes);
        return;
    }
    size_t wanted = request->length + length + 1;
    if (wanted > request->size) {
        size_t size = body_size (request, wanted);
        char *body = NULL;
        if (server->bodies_bytes - request->size + size <= limits->bodies_bytes &&
            signed_has_room (request, size))
            body = realloc (request->body, size);
        if (body == NULL) {
            http_error (request, 503, "too many request bodies at one time; try again later");
            return;
        }
        server->bodies_bytes += size - request->size;
        request->body = body;
        request->size = size;
    }
    memcpy (request->body + request->length, data, length);
    request->length += length;
    request->body[request->length] = '\0';
}

/* Is the refusal sent before the body?  If the client waits for 100 Continue, or if the body is large.
 * MHD can do that for these two methods only. */
static bool is_early (const struct http_request *request, const char *method)
{
    const struct head *head = &request->head;
    const struct http_limits *limits = &request->connection->server->options.limits;
    if (request->status == 0 || (strcmp (method, "POST") != 0 && strcmp (method, "PUT") != 0))
        return false;
    return head->expect != NULL ||
           (head->length != NULL && strtoull (head->length, NULL, 10) > 2 * limits->body_bytes);
}

static void copy_method (const char *method, char *ret, size_t size)
{
    size_t i = 0;
    for (; i + 1 < size && method[i] != '\0'; i++) {
        bool letter = (method[i] | 0x20) >= 'a' && (method[i] | 0x20) <= 'z';
        ret[i] = letter ? method[i] : '?';
    }
    ret[i] = '\0';
}

static enum MHD_Result begin (struct http_request *request, const char *method, const char *version)
{
    struct http_server *server = request->connection->server;
    request->begun = true;
    request->begin_us = clock_monotonic_us ();
    copy_method (method, request->method_text, sizeof (request->method_text));
    server->counts.requests++;
    connection_phase (request->connection, PHASE_BODY);
    request_check_head (request, method, version);
    if (request->connection->closing)
        return MHD_NO;
    return is_early (request, method) ? answer_send (request) : MHD_YES;
}

/* The request is complete: call its handler. */
static void handle (struct http_request *request)
{
    struct http_server *server = request->connection->server;
    request->handled = true;
    if (request->status != 0) {
        request->refused = true;
        return;
    }
    request->route->handle (server->options.self, request);
    if (request->status == 0)
        http_error (request, 500,
                    "the handler of %s gave no answer; this is an error in the server",
                    request->raw);
}

static void hold (struct http_request *request)
{
    struct http_server *server = request->connection->server;
    request->next_held = NULL;
    *server->held_end = request;
    server->held_end = &request->next_held;
    server->held_count++;
    connection_phase (request->connection, PHASE_HELD);
    connection_suspend (request->connection);
}

enum MHD_Result request_handle (void *self, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_size, void **context)
{
    struct http_server *server = self;
    struct http_request *request = *context;
    (void)mhd;
    (void)url;
    if (request == NULL || request->connection->closing || server->freeing)
        return MHD_NO;
    if (!request->begun)
        return begin (request, method, version);
    if (*data_size > 0) {
        if (request->status == 0)
            body_take (request, data, *data_size);
        if (request->status != 0) {
            body_free (request);
            request->discarded += *data_size;
        }
        *data_size = 0;
        return request->discarded <= 4 * server->options.limits.body_bytes ? MHD_YES : MHD_NO;
    }
    if (request->credential != NULL && request->status == 0 && signed_begin (request))
        return MHD_YES;
    if (!request->handled) {
        handle (request);
        body_free (request);
        if (request->stream == NULL && !request->refused &&
            (request->route->flags & HTTP_DURABLE) != 0) {
            hold (request);
            return MHD_YES;
        }
    }
    return answer_send (request);
}

void http_server_release (struct http_server *server, int status, const char *sentence)
{
    struct http_request *request = server->held;
    server->held = NULL;
    server->held_end = &server->held;
    server->held_count = 0;
    for (struct http_request *next; request != NULL; request = next) {
        next = request->next_held;
        if (status != 0) {
            answer_clear (request);
            http_error (request, status, "%s", sentence);
        }
        connection_resume (request->connection);
    }
}

/* ---- For handlers ---------------------------------------------------------------------------- */

const char *http_param (const struct http_request *request, const char *name)
{
    return target_param (&request->target, request->route->pattern, name);
}

const char *http_query (const struct http_request *request, const char *name)
{
    return target_query (&request->target, name);
}

const char *http_header (const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value (request->connection->mhd, MHD_HEADER_KIND, name);
}

const char *http_body (const struct http_request *request, size_t *ret_length)
{
    *ret_length = request->length;
    return request->body != NULL ? request->body : "";
}

unsigned http_body_type (const struct http_request *request)
{
    return request->length > 0 ? request->body_type : 0;
}

const struct http_identity *http_identity (const struct http_request *request)
{
    return &request->identity;
}

enum http_method http_method (const struct http_request *request)
{
    return request->method;
}

const char *http_path (const struct http_request *request)
{
    return request->raw;
}

const char *http_method_text (const struct http_request *request)
{
    return request->method_text;
}

const char *http_target (const struct http_request *request)
{
    return request->whole;
}

const char *http_peer (const struct http_request *request)
{
    return request->connection->peer.text;
}
