/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with a credential that signs the whole request (options.verify).  The head is checked as usual, the body
 * is read within the usual limits, then the request is suspended until the caller has checked the credential:
 *
 *     head -> checks -> body -> signed_begin -> options.verify ... http_admit -> role, rate -> handler
 *                                                              ... http_refuse -> 401 or 503
 *
 * Tickets are never used again, so the answer for a request that has ended finds nothing.
 */
#include "http/http_private.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

bool signed_note (struct http_request *request)
{
    const struct http_options *options = &request->connection->server->options;
    const char *text = request->head.authorization;
    size_t length = options->scheme != NULL ? strlen (options->scheme) : 0;
    if (options->verify == NULL || length == 0 || text == NULL ||
        strncasecmp (text, options->scheme, length) != 0 || text[length] != ' ')
        return false;
    request->credential = text + length + strspn (text + length, " ");
    return true;
}

/* A client can send a large body with an invalid credential.  One address must not take the memory for the bodies
 * of all others: it gets one eighth, or room for one body. */
bool signed_has_room (const struct http_request *request, size_t size)
{
    const struct http_server *server = request->connection->server;
    const struct http_limits *limits = &server->options.limits;
    size_t most = limits->bodies_bytes / 8;
    if (request->credential == NULL)
        return true;
    if (most < limits->body_bytes + 1)
        most = limits->body_bytes + 1;
    for (const struct connection *at = server->connections; at != NULL; at = at->next) {
        const struct http_request *other = at->request;
        if (other != NULL && other != request &&
            (other->credential != NULL || other->ticket != 0) &&
            strcmp (at->peer.text, request->connection->peer.text) == 0)
            size += other->size;
    }
    return size <= most;
}

bool signed_begin (struct http_request *request)
{
    struct http_server *server = request->connection->server;
    const struct http_options *options = &server->options;
    struct pollux_error err = {.text = ""};
    uint64_t ticket = ++server->tickets;
    int code = options->verify (options->self, ticket, request->connection->peer.text,
                                request->credential, &err);
    request->credential = NULL;
    if (code == -EACCES) {
        request_refuse_token (request, err.text);
        return false;
    }
    if (code < 0) {
        http_answer_header (request, "Retry-After", "1");
        http_error (request, 503, "%s", err.text);
        return false;
    }
    request->ticket = ticket;
    request->next_signed = server->waiting;
    server->waiting = request;
    connection_phase (request->connection, PHASE_HELD);
    connection_suspend (request->connection);
    return true;
}

void signed_forget (struct http_request *request)
{
    struct http_request **at = &request->connection->server->waiting;
    if (request->ticket == 0)
        return;
    while (*at != request)
        at = &(*at)->next_signed;
    *at = request->next_signed;
    request->ticket = 0;
}

struct http_request *http_signed (struct http_server *server, uint64_t ticket)
{
    struct http_request *at = server->waiting;
    while (at != NULL && at->ticket != ticket)
        at = at->next_signed;
    return at;
}

void http_admit (struct http_request *request, const struct http_identity *identity)
{
    signed_forget (request);
    request->identity = *identity;
    request_check_identity (request);
    connection_resume (request->connection);
}

void http_refuse (struct http_request *request, int status, const char *sentence)
{
    signed_forget (request);
    if (status == 401) {
        request_refuse_token (request, sentence);
    } else {
        http_answer_header (request, "Retry-After", "1");
        http_error (request, status, "%s", sentence);
    }
    connection_resume (request->connection);
}

void signed_refuse_all (struct http_server *server)
{
    while (server->waiting != NULL)
        http_refuse (server->waiting, 503, "polluxd is stopping; try again when it is back");
}
