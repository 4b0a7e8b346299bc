/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections, their phases and deadlines.
 *
 * libmicrohttpd's own timeout is extended by every byte, so it is not used.  Here each phase of a
 * connection has one fixed deadline.  When it has passed, the socket is shut down: MHD then finds it
 * closed, ends the request and frees the connection as usual.
 *
 * MHD does not see every disconnect: not on a suspended connection, and not if it came together with
 * the last bytes.  So the server's epoll watches for disconnects, too.
 */
#include "http/http_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/header_check.h"

static struct address_host address_of (int fd, int (*ask) (int, struct sockaddr *restrict,
                                                           socklen_t *restrict))
{
    struct sockaddr_storage storage = {.ss_family = AF_UNIX};
    socklen_t length = sizeof (storage);
    if (ask (fd, (struct sockaddr *)&storage, &length) < 0)
        storage.ss_family = AF_UNIX;
    return address_host ((const struct sockaddr *)&storage);
}

static void put_first (struct connection *connection)
{
    struct http_server *server = connection->server;
    connection->previous = NULL;
    connection->next = server->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    server->connections = connection;
}

static void take_out (struct connection *connection)
{
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        connection->server->connections = connection->next;
}

static void connection_begin (struct engine *engine, struct MHD_Connection *mhd,
                              void **socket_context)
{
    struct http_server *server = engine->server;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection = calloc (1, sizeof (*connection));
    if (info == NULL || connection == NULL ||
        deadlines_reserve (&server->deadlines, server->counts.connections + 1) < 0) {
        free (connection); /* its first request finds no connection and MHD closes it */
        return;
    }
    *connection = (struct connection){.source = SOURCE_CONNECTION,
                                      .server = server,
                                      .engine = engine,
                                      .mhd = mhd,
                                      .fd = info->connect_fd};
    connection->peer = address_of (connection->fd, getpeername);
    connection->local = address_of (connection->fd, getsockname);
    connection->over_unix = strcmp (connection->local.text, "unix") == 0;
    connection->exposed =
        !engine->tls && !connection->over_unix && !check_loopback (connection->local.text);
    put_first (connection);
    server->counts.connections++;
    engine->connections++;
    deadline_set (&server->deadlines, &connection->deadline,
                  server->now_us + (int64_t)(server->options.limits.head_s * 1e6));
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = connection};
    epoll_ctl (server->epoll, EPOLL_CTL_ADD, connection->fd, &event);
    *socket_context = connection;
}

static void connection_end (struct connection *connection)
{
    struct http_server *server = connection->server;
    /* If MHD itself refuses a request (too many words in its query), it does not call the completion
     * callback: free the request here. */
    request_free (connection->request);
    /* Explicitly: a child that has been forked but has not called exec yet would keep the
     * descriptor alive, and with it the event. */
    epoll_ctl (server->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
    server->half_closed -= connection->half_closed;
    deadline_clear (&server->deadlines, &connection->deadline);
    take_out (connection);
    server->counts.connections--;
    connection->engine->connections--;
    free (connection);
}

void connection_notify (void *self, struct MHD_Connection *mhd, void **socket_context,
                        enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_begin (self, mhd, socket_context);
    } else if (*socket_context != NULL) {
        connection_end (*socket_context);
        *socket_context = NULL;
    }
}

void connection_phase (struct connection *connection, enum phase phase)
{
    struct http_server *server = connection->server;
    const struct http_limits *limits = &server->options.limits;
    const double span_s[] = {
        [PHASE_HEAD] = limits->idle_s,
        [PHASE_BODY] = limits->request_s,
        [PHASE_ANSWER] = limits->answer_s,
    };
    connection->phase = phase;
    /* A held answer does not depend on the client; a stream sets its own deadline. */
    if (phase == PHASE_HELD || phase == PHASE_STREAM)
        deadline_clear (&server->deadlines, &connection->deadline);
    else
        deadline_set (&server->deadlines, &connection->deadline,
                      server->now_us + (int64_t)(span_s[phase] * 1e6));
}

void connection_suspend (struct connection *connection)
{
    if (!connection->suspended)
        MHD_suspend_connection (connection->mhd);
    connection->suspended = true;
}

void connection_resume (struct connection *connection)
{
    if (!connection->suspended)
        return;
    MHD_resume_connection (connection->mhd);
    connection->suspended = false;
    connection->server->resumed = true;
}

void connection_cut (struct connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    deadline_clear (&connection->server->deadlines, &connection->deadline);
    shutdown (connection->fd, SHUT_RDWR);
    connection_resume (connection);
}

void connection_half_closed (struct connection *connection)
{
    if (connection->half_closed)
        return;
    connection->half_closed = true;
    connection->server->half_closed++;
    take_out (connection); /* to the front, where connections_sweep looks first */
    put_first (connection);
}

/* Were all bytes of the client read? */
static bool is_read (const struct connection *connection)
{
    char byte;
    return recv (connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

void connections_sweep (struct http_server *server)
{
    struct connection *at = server->connections;
    for (int left = server->half_closed; left > 0; at = at->next) {
        bool waits = at->phase == PHASE_HEAD || at->phase == PHASE_BODY;
        if (!at->half_closed)
            continue;
        left--;
        if (at->phase == PHASE_STREAM || (waits && is_read (at)))
            connection_cut (at);
    }
}
