/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose bytes cannot be trusted: where such a request ends, and so where the next one begins, is not
 * certain.  They get one answer, and the connection is closed.
 *
 * The answer does not go through libmicrohttpd, because that would read the rest of the request first; and a wrong
 * Content-Length it refuses itself, with two heads in its answer (0.9.75).  It tells its error log before, which
 * is where such a request is found.
 */
#include "http/http_private.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { DRAIN = 1 << 16 };

/* Write to a socket that has just been read from: these few bytes fit into its buffer. */
static void send_raw (const struct connection *connection, const char *text, size_t length)
{
    const union MHD_ConnectionInfo *info =
        connection->engine->tls
            ? MHD_get_connection_info (connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)
            : NULL;
    if (info != NULL)
        gnutls_record_send (info->tls_session, text, length);
    else if (!connection->engine->tls)
        send (connection->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Closing a socket with unread bytes resets the connection, and the client might not see the answer. */
static void drain (const struct connection *connection)
{
    char bytes[4096];
    for (size_t got = 0; got < DRAIN; got += sizeof (bytes))
        if (recv (connection->fd, bytes, sizeof (bytes), MSG_DONTWAIT) <= 0)
            break;
}

void request_reject (struct http_request *request, const char *sentence)
{
    struct connection *connection = request->connection;
    char text[512], body[256];
    int length = snprintf (body, sizeof (body), "{\"error\": \"%s\"}\n", sentence);
    int size = snprintf (text, sizeof (text),
                         "HTTP/1.1 400 Bad Request\r\n"
                         "Connection: close\r\n"
                         "Content-Type: application/json\r\n"
                         "Cache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\n"
                         "Content-Length: %d\r\n\r\n%s",
                         length, body);
    if (connection->closing)
        return;
    request->status = 400;
    request->refused = request->handled = true;
    connection->server->counts.answers[4]++;
    access_report (request);
    send_raw (connection, text, (size_t)size);
    drain (connection);
    connection_cut (connection);
}

bool length_is_wrong (const char *length)
{
    size_t digits = strspn (length, "0123456789");
    return digits == 0 || digits > 18 || length[digits] != '\0';
}

void engine_log (void *self, const char *format, va_list arguments)
{
    const struct engine *engine = self;
    (void)format;
    (void)arguments;
    if (engine->server->freeing)
        return;
    for (struct connection *at = engine->server->connections; at != NULL; at = at->next) {
        if (at->engine != engine || at->request == NULL || at->request->begun || at->closing)
            continue;
        const char *length =
            MHD_lookup_connection_value (at->mhd, MHD_HEADER_KIND, "Content-Length");
        if (length != NULL && length_is_wrong (length))
            request_reject (at->request, "the Content-Length is not a number");
    }
}
