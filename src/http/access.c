/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes an answered request for the access log.  Only the token's name, never its text, gets
 * here; the query, the headers and the body are left out.  The path is the client's text, so it is
 * made safe:
 *
 *     bytes outside of ! .. ~          %XX, as in a URL: no control character, one encoding
 *     segments of 64 bytes and more    "..."  A token has at least 64 characters and a name at most
 *                                      63, so a token that was put into a path by mistake is hidden
 *     no slash at the beginning        "...": a whole URL could have a password in it
 *     the end of a long path           cut at HTTP_ACCESS_PATH bytes
 */
#include "http/http_private.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { SEGMENT_LIMIT = HTTP_NAME_SIZE };

static char *put_segment (char *to, const char *end, const char *from, size_t length)
{
    if (length >= SEGMENT_LIMIT) {
        from = "...";
        length = 3;
    }
    for (size_t i = 0; i < length && end - to > 3; i++) {
        unsigned char byte = (unsigned char)from[i];
        if (byte > ' ' && byte < 0x7f)
            *to++ = (char)byte;
        else
            to += sprintf (to, "%%%02X", byte);
    }
    return to;
}

void http_access_path (const char *raw, char ret[HTTP_ACCESS_PATH])
{
    char *to = ret, *end = ret + HTTP_ACCESS_PATH;
    if (*raw != '/')
        raw = "...";
    while (*raw != '\0') {
        size_t length = strcspn (raw, "/");
        to = put_segment (to, end, raw, length);
        raw += length;
        if (*raw == '/' && end - to > 1) {
            *to++ = '/';
            raw++;
        } else if (*raw == '/') {
            break;
        }
    }
    *to = '\0';
}

void access_report (const struct http_request *request)
{
    const struct http_options *options = &request->connection->server->options;
    char path[HTTP_ACCESS_PATH];
    if (options->access == NULL)
        return;
    http_access_path (request->raw, path);
    struct http_access access = {
        .identity = &request->identity,
        .peer = request->connection->peer.text,
        .method = request->method_text,
        .route = request->route,
        .path = path,
        .status = request->status,
        .seconds = (double)(clock_monotonic_us () - request->begin_us) * 1e-6,
    };
    options->access (options->access_self, &access);
}
