/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: listening sockets, the step, and the end.
 *
 *     caller's epoll --> http_server_fd: epoll of --+-- listening sockets   accept, ours
 *                                                   +-- MHD's epoll         MHD_run
 *                                                   +-- all clients         disconnected?
 *
 * Connections are accepted here and not by MHD: so several addresses share one MHD daemon (engine.c), and
 * the limits are ours.
 */
#include "http/http_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"

enum {
    EVENTS = 64, /* per epoll_wait */
    RUNS = 8,    /* calls of MHD_run in one step, while MHD has work */
};

static const struct http_limits defaults = {
    .body_bytes = 1 << 20,
    .bodies_bytes = 64 << 20,
    .header_bytes = 16 << 10,
    .stream_bytes = 256 << 10,
    .connections = 1024,
    .per_address = 768,
    .streams = 512,
    .streams_per_name = 160,
    .rate = 1000,
    .burst = 2000,
    .refusals = 10,
    .head_s = 10,
    .idle_s = 75,
    .request_s = 30,
    .answer_s = 60,
};

#define DEFAULT(limits, member)                                                                    \
    do {                                                                                           \
        if (!((limits)->member > 0))                                                               \
            (limits)->member = defaults.member;                                                    \
    } while (0)

static void fill_limits (struct http_limits *limits)
{
    DEFAULT (limits, body_bytes);
    DEFAULT (limits, bodies_bytes);
    DEFAULT (limits, header_bytes);
    DEFAULT (limits, stream_bytes);
    DEFAULT (limits, connections);
    DEFAULT (limits, per_address);
    DEFAULT (limits, streams);
    DEFAULT (limits, streams_per_name);
    DEFAULT (limits, rate);
    DEFAULT (limits, burst);
    DEFAULT (limits, refusals);
    DEFAULT (limits, head_s);
    DEFAULT (limits, idle_s);
    DEFAULT (limits, request_s);
    DEFAULT (limits, answer_s);
}

/* ---- The step ----------------------------------------------------------------------------------- */

static bool mhd_is_busy (const struct http_server *server)
{
    return server->resumed || engines_are_busy (server);
}

static void take_events (struct http_server *server)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait (server->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        void *about = events[i].data.ptr;
        switch (*(enum source *)about) {
        case SOURCE_MHD:
            break; /* MHD_run is called in any case */
        case SOURCE_LISTENER:
            accept_some (server, about);
            break;
        case SOURCE_CONNECTION:
            connection_half_closed (about);
            break;
        }
    }
}

static void cut_overdue (struct http_server *server)
{
    struct deadline *first;
    while ((first = deadlines_first (&server->deadlines)) != NULL &&
           first->due_us <= server->now_us) {
        char *connection = (char *)first - offsetof (struct connection, deadline);
        server->counts.cut_off++;
        connection_cut ((struct connection *)(void *)connection);
    }
}

void http_server_step (struct http_server *server, int64_t now_us)
{
    server->now_us = now_us;
    if (server->accept_us <= now_us)
        accept_resume (server);
    streams_set_deadlines (server);
    take_events (server);
    cut_overdue (server);
    for (int runs = 0; runs == 0 || (runs < RUNS && mhd_is_busy (server)); runs++) {
        server->resumed = false;
        engines_run (server);
        streams_notify (server);
        if (!mhd_is_busy (server))
            connections_sweep (server);
    }
}

int64_t http_server_due_us (const struct http_server *server)
{
    const struct deadline *first = deadlines_first (&server->deadlines);
    if (mhd_is_busy (server) || server->needs_deadline || server->notify || server->gone != NULL)
        return INT64_MIN;
    if (first != NULL && first->due_us < server->accept_us)
        return first->due_us;
    return server->accept_us;
}

int http_server_fd (const struct http_server *server)
{
    return server->epoll;
}

const char *http_server_address (const struct http_server *server, int i)
{
    return server->listeners[i].address.text;
}

int http_server_held (const struct http_server *server)
{
    return server->held_count;
}

int http_server_busy (const struct http_server *server)
{
    int count = 0;
    for (const struct connection *at = server->connections; at != NULL; at = at->next)
        count += at->phase != PHASE_HEAD;
    return count;
}

struct http_counts http_server_counts (const struct http_server *server)
{
    return server->counts;
}

/* ---- Beginning and end --------------------------------------------------------------------------- */

static int listen_all (struct http_server *server, struct pollux_error *err)
{
    for (int i = 0; i < server->options.listen_count; i++) {
        struct listener *listener = &server->listeners[i];
        int code = address_parse (server->options.listen[i], &listener->address, err);
        if (code < 0)
            return code;
        listener->tls = server->secure != NULL && !address_is_local (&listener->address);
        listener->fd = address_listen (&listener->address, err);
        if (listener->fd < 0)
            return listener->fd;
    }
    return 0;
}

const char *http_server_scheme (const struct http_server *server, int i)
{
    const struct listener *listener = &server->listeners[i];
    return ((const struct sockaddr *)&listener->address.sockaddr)->sa_family == AF_UNIX ? ""
           : listener->tls                                                              ? "https://"
                                                                                        : "http://";
}

/* Copy the options that are used after http_server_new. */
static int copy_options (struct http_server *server, const struct http_options *options,
                         struct pollux_error *err)
{
    for (int i = 0; i < options->route_count; i++)
        if (!target_is_pattern (options->routes[i].pattern) || options->routes[i].handle == NULL)
            return fail (err, -EINVAL, "route %d: '%s' is no pattern with a handler", i,
                         options->routes[i].pattern);
    server->options = *options;
    server->options.listen_count = server->options.host_count = 0;
    fill_limits (&server->options.limits);
    server->hosts = calloc ((size_t)options->host_count + 1, sizeof (*server->hosts));
    server->listeners = calloc ((size_t)options->listen_count + 1, sizeof (*server->listeners));
    if (server->hosts == NULL || server->listeners == NULL)
        return fail (err, -ENOMEM, "no memory for an HTTP server");
    server->options.hosts = (const char *const *)server->hosts;
    for (int i = 0; i < options->host_count; i++) {
        server->hosts[i] = strdup (options->hosts[i]);
        if (server->hosts[i] == NULL)
            return fail (err, -ENOMEM, "no memory for an HTTP server");
        server->options.host_count++;
    }
    for (int i = 0; i < options->listen_count; i++)
        server->listeners[i] = (struct listener){.source = SOURCE_LISTENER, .fd = -1};
    server->options.listen_count = options->listen_count;
    return 0;
}

static int make_rate_limits (struct http_server *server, struct pollux_error *err)
{
    const struct http_limits *limits = &server->options.limits;
    uint64_t seed = 0;
    if (getrandom (&seed, sizeof (seed), 0) != (ssize_t)sizeof (seed))
        return fail (err, -errno, "no random numbers: %s", strerror (errno));
    server->request_limit = rate_limit_new (limits->rate, limits->burst, seed);
    server->refusal_limit = rate_limit_new (limits->refusals, 10 * limits->refusals, seed);
    if (server->request_limit == NULL || server->refusal_limit == NULL)
        return fail (err, -ENOMEM, "no memory for an HTTP server");
    return 0;
}

int http_server_new (const struct http_options *options, int64_t now_us, struct http_server **ret,
                     struct pollux_error *err)
{
    struct http_server *server = calloc (1, sizeof (*server));
    if (server == NULL)
        return fail (err, -ENOMEM, "no memory for an HTTP server");
    *server = (struct http_server){
        .source = SOURCE_MHD, .now_us = now_us, .accept_us = INT64_MAX, .epoll = -1};
    server->held_end = &server->held;
    int code = copy_options (server, options, err);
    if (code < 0)
        goto failed;
    server->epoll = epoll_create1 (EPOLL_CLOEXEC);
    if (server->epoll < 0) {
        code = fail (err, -errno, "no epoll: %s", strerror (errno));
        goto failed;
    }
    if ((code = make_rate_limits (server, err)) < 0 ||
        (code = engine_start (server, NULL, &server->plain, err)) < 0 ||
        (options->tls != NULL && (code = http_server_set_tls (server, options->tls, err)) < 0) ||
        (code = listen_all (server, err)) < 0)
        goto failed;
    server->options.listen = NULL; /* borrowed during this call only */
    server->options.tls = NULL;
    accept_resume (server);
    *ret = server;
    return 0;
failed:
    http_server_free (server);
    return code;
}

static void close_listeners (struct http_server *server)
{
    for (int i = 0; i < server->options.listen_count; i++) {
        listener_watch (server, &server->listeners[i], false);
        address_close (&server->listeners[i].address, server->listeners[i].fd);
        server->listeners[i].fd = -1;
    }
    server->accept_us = INT64_MAX;
}

void http_server_stop (struct http_server *server)
{
    close_listeners (server);
    server->stopping = true;
    signed_refuse_all (server);
    for (struct connection *at = server->connections; at != NULL; at = at->next) {
        struct http_stream *stream = at->request != NULL ? at->request->stream : NULL;
        if (at->phase == PHASE_HEAD) {
            connection_cut (at);
        } else if (stream != NULL) {
            stream->ended = stream->notify_gone = server->notify = true;
            connection_resume (at);
        }
    }
}

void http_server_free (struct http_server *server)
{
    if (server == NULL)
        return;
    close_listeners (server);
    server->freeing = true;
    for (struct connection *at = server->connections; at != NULL; at = at->next)
        connection_cut (at);
    engines_free (server);
    streams_notify (server);
    if (server->epoll >= 0)
        close (server->epoll);
    rate_limit_free (server->request_limit);
    rate_limit_free (server->refusal_limit);
    deadlines_clear (&server->deadlines);
    for (int i = 0; i < server->options.host_count; i++)
        free (server->hosts[i]);
    free (server->hosts);
    free (server->listeners);
    free (server);
}
