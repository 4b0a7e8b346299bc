/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections, up to limits in total and per address.  Idle connections do not block new ones: at
 * the limit, the connection that has waited longest without a request is closed.  Only if all
 * connections have requests in work, a new one is answered with 503.
 */
#define _GNU_SOURCE
#include "http/http_private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

enum {
    ACCEPTS = 64, /* per listener and step, so that new clients cannot starve others */
    ACCEPT_PAUSE_US = 200 * 1000, /* after descriptors or memory ran out */
};

/* Close the connection that has waited longest without a request; only_of: of this address (NULL: any).
 * False: there is none. */
static bool make_room (struct http_server *server, const char *only_of)
{
    struct connection *longest = NULL;
    for (struct connection *at = server->connections; at != NULL; at = at->next)
        if (at->phase == PHASE_HEAD && !at->closing &&
            (only_of == NULL || strcmp (at->peer.text, only_of) == 0) &&
            (longest == NULL || at->deadline.due_us < longest->deadline.due_us))
            longest = at;
    if (longest == NULL)
        return false;
    server->counts.cut_off++;
    connection_cut (longest);
    return true;
}

static bool has_room (struct http_server *server, const char *peer)
{
    const struct http_limits *limits = &server->options.limits;
    int all = 0, same = 0;
    if (server->counts.connections >= limits->connections + CLOSING_MAX)
        return false;
    if (server->counts.connections < limits->per_address &&
        server->counts.connections < limits->connections)
        return true; /* without counting */
    for (const struct connection *at = server->connections; at != NULL; at = at->next) {
        all += !at->closing;
        same += !at->closing && strcmp (at->peer.text, peer) == 0;
    }
    if (same >= limits->per_address)
        return make_room (server, peer);
    return all < limits->connections || make_room (server, NULL);
}

/* Without TLS the client is told why; a handshake would cost more than this connection is worth. */
static void turn_away (struct http_server *server, bool tls, int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                               "Content-Type: application/json\r\nRetry-After: 1\r\n\r\n"
                               "{\"error\": \"there are too many connections; try again\"}\n";
    server->counts.turned_away++;
    if (!tls)
        send (fd, text, sizeof (text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close (fd);
}

static int add (struct http_server *server, bool tls, int fd, const struct sockaddr_storage *peer,
                socklen_t length)
{
    int one = 1;
    struct MHD_Daemon *mhd = tls ? server->secure->mhd : server->plain->mhd;
    if (!has_room (server, address_host ((const struct sockaddr *)peer).text)) {
        turn_away (server, tls, fd);
        return -EMFILE;
    }
    if (peer->ss_family != AF_UNIX) /* finds peers that were switched off */
        setsockopt (fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof (one));
    server->counts.accepted++;
    if (MHD_add_connection (mhd, fd, (const struct sockaddr *)peer, length) == MHD_YES)
        return 0;
    return -ENOMEM; /* MHD has closed it */
}

int http_server_add (struct http_server *server, int fd, struct pollux_error *err)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t length = sizeof (peer);
    if (getpeername (fd, (struct sockaddr *)&peer, &length) < 0) {
        int code = -errno;
        close (fd);
        return fail (err, code, "no connection: %s", strerror (-code));
    }
    int code = add (server, false, fd, &peer, length);
    return code < 0 ? fail (err, code, "there are too many connections") : 0;
}

void listener_watch (struct http_server *server, const struct listener *listener, bool on)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)listener};
    if (listener->fd >= 0)
        epoll_ctl (server->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener->fd, &event);
}

/* Without free descriptors, waiting clients would wake epoll in a busy loop: pause. */
static void pause_accepting (struct http_server *server)
{
    for (int i = 0; i < server->options.listen_count; i++)
        listener_watch (server, &server->listeners[i], false);
    server->accept_us = server->now_us + ACCEPT_PAUSE_US;
}

void accept_resume (struct http_server *server)
{
    for (int i = 0; i < server->options.listen_count; i++)
        listener_watch (server, &server->listeners[i], true);
    server->accept_us = INT64_MAX;
}

void accept_some (struct http_server *server, const struct listener *listener)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage peer = {.ss_family = AF_UNIX};
        socklen_t length = sizeof (peer);
        int fd =
            accept4 (listener->fd, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            add (server, listener->tls, fd, &peer, length);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            pause_accepting (server);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}
