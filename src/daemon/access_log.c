/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the level of a request's line, limits the lines of clients without a token, and writes.
 */
#include "daemon/access_log.h"

#include <stdbool.h>

#include "api/tokens.h"

static enum log_level level_of (const struct http_access *access)
{
    const struct http_route *route = access->route;
    if (access->status >= 400)
        return LOG_INFO;
    bool changes = route && route->method != HTTP_GET && !(route->flags & HTTP_FREQUENT);
    return changes ? LOG_INFO : LOG_DEBUG;
}

void access_log_flush (struct access_log *log, const struct logger *logger)
{
    if (log->not_written > 0)
        say (logger, LOG_WARNING, "requests without a valid token were not logged",
             LOG_INT ("count", log->not_written));
    log->not_written = 0;
}

/* May a line about a request without a valid token be written? */
static bool within_limit (struct access_log *log)
{
    if (log->lines++ < ACCESS_LOG_UNKNOWN_LINES)
        return true;
    log->not_written++;
    return false;
}

void access_log_write (struct access_log *log, const struct logger *logger,
                       const struct http_access *access, int64_t now_us)
{
    enum log_level level = level_of (access);
    const struct http_identity *identity = access->identity;
    const char *role = role_name (identity->role);
    if (log->second_us == 0 || now_us - log->second_us >= 1000000) {
        log->second_us = now_us;
        log->lines = 0;
        access_log_flush (log, logger);
    }
    if (level > logger->level || (identity->role == 0 && !within_limit (log)))
        return;
    say (logger, level, "request", LOG_TEXT ("who", identity->role ? identity->name : "-"),
         LOG_TEXT ("role", role ? role : "-"), LOG_TEXT ("from", access->peer),
         LOG_TEXT ("method", access->method),
         LOG_TEXT ("route", access->route ? access->route->pattern : "-"),
         LOG_TEXT ("path", access->path), LOG_INT ("status", access->status),
         LOG_NUMBER ("seconds", access->seconds));
}
