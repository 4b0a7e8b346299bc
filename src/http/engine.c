/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemons of libmicrohttpd: one serves the plain connections, one those with TLS.  libmicrohttpd cannot
 * change the certificate of a daemon, so a new certificate gets a new daemon; the old one goes on until its
 * connections have ended, and every answer of it asks the client to connect again.
 */
#include "http/http_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/error.h"

/* TLS 1.2 and later; the server's order of algorithms counts. */
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"
/* MHD builds the answer's head in the same memory as the request's. */
enum { ANSWER_HEAD = 4096 };

/* MHD must not decode: target.c does, after it has split the path. */
static size_t keep_encoded (void *self, struct MHD_Connection *mhd, char *text)
{
    (void)self;
    (void)mhd;
    return strlen (text);
}

/* Watch the engine's epoll. */
static int watch (const struct engine *engine, struct pollux_error *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info (engine->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = engine->server};
    if (info == NULL ||
        epoll_ctl (engine->server->epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) < 0)
        return fail (err, -ENOSYS, "libmicrohttpd has no epoll: build it with epoll support");
    return 0;
}

static void engine_free (struct engine *engine)
{
    if (engine->mhd != NULL)
        MHD_stop_daemon (engine->mhd);
    free (engine);
}

int engine_start (struct http_server *server, const struct tls *tls, struct engine **ret,
                  struct pollux_error *err)
{
    const struct http_limits *limits = &server->options.limits;
    struct engine *engine = calloc (1, sizeof (*engine));
    if (engine == NULL)
        return fail (err, -ENOMEM, "no memory for an HTTP server");
    struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls != NULL ? tls->cert : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls != NULL ? tls->key : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    if (tls == NULL)
        tls_options[0].option = MHD_OPTION_END;
    if (tls != NULL && MHD_is_feature_supported (MHD_FEATURE_TLS) != MHD_YES) {
        engine_free (engine);
        return fail (err, -ENOSYS, "libmicrohttpd has no TLS: build it with GnuTLS");
    }
    engine->server = server;
    engine->tls = tls != NULL;
    engine->mhd = MHD_start_daemon (
        MHD_USE_ERROR_LOG | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            (tls != NULL ? MHD_USE_TLS : 0),
        0, NULL, NULL, request_handle, server, MHD_OPTION_EXTERNAL_LOGGER, engine_log, engine,
        MHD_OPTION_NOTIFY_CONNECTION, connection_notify, engine, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, server, MHD_OPTION_URI_LOG_CALLBACK, request_new, server,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_encoded, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(limits->connections + CLOSING_MAX), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        limits->header_bytes + ANSWER_HEAD, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_ARRAY, tls_options, MHD_OPTION_END);
    int code =
        engine->mhd != NULL
            ? watch (engine, err)
            : fail (err, -ENOMEM, "libmicrohttpd does not start: no memory or descriptors left%s",
                    tls != NULL ? ", or it cannot use the certificate" : "");
    if (code < 0) {
        engine_free (engine);
        return code;
    }
    engine->next = server->engines;
    server->engines = engine;
    *ret = engine;
    return 0;
}

bool engines_are_busy (const struct http_server *server)
{
    for (const struct engine *at = server->engines; at != NULL; at = at->next) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        if (MHD_get_timeout (at->mhd, &timeout_ms) == MHD_YES && timeout_ms == 0)
            return true;
    }
    return false;
}

void engines_run (struct http_server *server)
{
    for (struct engine **at = &server->engines, *engine; (engine = *at) != NULL;) {
        MHD_run (engine->mhd);
        if (engine->retired && engine->connections == 0) {
            *at = engine->next;
            engine_free (engine);
        } else {
            at = &engine->next;
        }
    }
}

void engines_free (struct http_server *server)
{
    for (struct engine *at = server->engines, *next; at != NULL; at = next) {
        next = at->next;
        MHD_run (at->mhd); /* it must not be stopped while a connection is suspended */
        engine_free (at);
    }
    server->engines = server->plain = server->secure = NULL;
}

int http_server_set_tls (struct http_server *server, const struct tls *tls,
                         struct pollux_error *err)
{
    struct engine *engine = NULL;
    int code = engine_start (server, tls, &engine, err);
    if (code < 0)
        return code;
    if (server->secure != NULL)
        server->secure->retired = true;
    server->secure = engine;
    return 0;
}
