/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access log: one line per answered request.
 *
 *     info request who=ann role=user from=127.0.0.1 method=POST route=/v1/jobs/{name}/cancel
 *          path=/v1/jobs/resnet/cancel status=202 seconds=0.0021
 *
 * who is the token's name, "-" without a valid token; route is "-" if none matches.  No token, query,
 * header or body is written.  Changes and refusals (status 400 and above) have the level info;
 * successful reads and agents' reports have the level debug.
 */
#ifndef DAEMON_ACCESS_LOG_H
#define DAEMON_ACCESS_LOG_H

#include "daemon/logger.h"
#include "http/http.h"

/* Lines per second about requests without a valid token: a client without one must not fill the disk.
 * 100 lines of about 200 bytes are at most 1.7 GB in a day. */
enum { ACCESS_LOG_UNKNOWN_LINES = 100 };

/* Zero to begin with; nothing to free. */
struct access_log {
    int64_t second_us;    /* when the present second began */
    int lines;            /* about requests without a valid token since then */
    uint64_t not_written; /* lines beyond the limit, not yet mentioned in the log */
};

/* Write the request's line if the logger's level permits it.  now_us: a monotonic clock.  Lines beyond
 * the limit are counted; the first request of any client in a later second writes their number. */
void access_log_write (struct access_log *log, const struct logger *logger,
                       const struct http_access *access, int64_t now_us);

/* Write the number of lines beyond the limit that no line has mentioned yet, at the end of the log. */
void access_log_flush (struct access_log *log, const struct logger *logger);

#endif
