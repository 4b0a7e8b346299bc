/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: kept in the request until they may be sent, then passed to libmicrohttpd.
 */
#include "http/http_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "http/gzip.h"
#include "http/header_check.h"

void answer_clear (struct http_request *request)
{
    free (request->answer);
    request->answer = NULL;
    request->answer_length = 0;
    request->header_count = 0;
    request->status = 0;
}

void http_answer_header (struct http_request *request, const char *name, const char *value)
{
    if (request->header_count == HEADERS_MAX)
        return;
    int at = request->header_count++;
    snprintf (request->headers[at].name, sizeof (request->headers[at].name), "%s", name);
    snprintf (request->headers[at].value, sizeof (request->headers[at].value), "%s", value);
    utf8_disarm (request->headers[at].value);
}

void http_answer (struct http_request *request, int status, const char *type, char *body,
                  size_t length)
{
    if (request->status != 0) { /* the first answer counts */
        free (body);
    } else if (body == NULL && length > 0) {
        http_error (request, 503, "not enough memory for the answer");
    } else {
        request->status = status;
        request->answer = body;
        request->answer_length = length;
        snprintf (request->type, sizeof (request->type), "%s", type != NULL ? type : "");
    }
}

bool http_has_version (const struct http_request *request, const char *tag)
{
    return check_tag (http_header (request, "If-None-Match"), tag);
}

void http_answer_gzip (struct http_request *request, int status, const char *type,
                       const void *bytes, size_t length, size_t limit)
{
    char *body = NULL;
    http_answer_header (request, "Vary", "Accept-Encoding");
    if (!check_gzip (http_header (request, "Accept-Encoding"))) {
        if (gzip_expand (bytes, length, limit, &body, &length) < 0)
            length = 1; /* answered as missing memory */
    } else if ((body = malloc (length)) != NULL) {
        memcpy (body, bytes, length);
        http_answer_header (request, "Content-Encoding", "gzip");
    }
    http_answer (request, status, type, body, length);
}

void http_answer_text (struct http_request *request, int status, const char *type, const char *text)
{
    http_answer (request, status, type, strdup (text), strlen (text));
}

void http_error (struct http_request *request, int status, const char *format, ...)
{
    char sentence[512], body[2 * sizeof (sentence) + 16];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (sentence, sizeof (sentence), format, arguments);
    va_end (arguments);
    utf8_disarm (sentence);
    size_t to = (size_t)sprintf (body, "{\"error\": \"");
    for (const char *from = sentence; *from != '\0'; from++) {
        if (*from == '"' || *from == '\\')
            body[to++] = '\\';
        body[to++] = *from;
    }
    memcpy (body + to, "\"}\n", 4);
    char *copy = strdup (body);
    if (request->status != 0) {
        free (copy);
        return;
    }
    request->status = status;
    request->answer = copy; /* without memory, only the status is sent */
    request->answer_length = copy != NULL ? to + 3 : 0;
    snprintf (request->type, sizeof (request->type), "application/json");
}

static bool has_header (const struct http_request *request, const char *name)
{
    for (int i = 0; i < request->header_count; i++)
        if (strcasecmp (request->headers[i].name, name) == 0)
            return true;
    return false;
}

/* Compress the answer if that helps and the client accepts it.  Without memory it stays as it is. */
static void compress_answer (struct http_request *request)
{
    enum { LEAST = 1024 };
    char *packed;
    size_t length;
    if (strcmp (request->type, "application/json") != 0 || request->answer_length <= LEAST ||
        request->header_count + 2 > HEADERS_MAX || has_header (request, "Content-Encoding"))
        return;
    http_answer_header (request, "Vary", "Accept-Encoding");
    if (!check_gzip (http_header (request, "Accept-Encoding")) ||
        gzip_compress (request->answer, request->answer_length, &packed, &length) < 0)
        return;
    free (request->answer);
    request->answer = packed;
    request->answer_length = length;
    http_answer_header (request, "Content-Encoding", "gzip");
}

static struct MHD_Response *response_of (struct http_request *request)
{
    if (request->stream != NULL && !request->bodiless) /* for HEAD, MHD would send an empty chunk */
        return stream_response (request->stream);
    if (request->answer == NULL)
        return MHD_create_response_from_buffer (0, (void *)"", MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response = MHD_create_response_from_buffer (
        request->answer_length, request->answer, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
        request->answer = NULL;
    return response;
}

enum MHD_Result answer_send (struct http_request *request)
{
    struct connection *connection = request->connection;
    struct http_server *server = connection->server;
    compress_answer (request);
    struct MHD_Response *response = response_of (request);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result ok = MHD_YES;
    if (request->type[0] != '\0')
        ok &= MHD_add_response_header (response, "Content-Type", request->type);
    if (!has_header (request, "Cache-Control"))
        ok &= MHD_add_response_header (response, "Cache-Control", "no-store");
    ok &= MHD_add_response_header (response, "X-Content-Type-Options", "nosniff");
    for (int i = 0; i < request->header_count; i++)
        ok &=
            MHD_add_response_header (response, request->headers[i].name, request->headers[i].value);
    if (server->stopping || connection->engine->retired)
        ok &= MHD_add_response_header (response, "Connection", "close");
    if (ok == MHD_YES)
        ok = MHD_queue_response (connection->mhd, (unsigned)request->status, response);
    MHD_destroy_response (response);
    if (ok == MHD_YES) {
        server->counts.answers[request->status / 100 % 6]++;
        access_report (request);
        connection_phase (connection, request->stream != NULL ? PHASE_STREAM : PHASE_ANSWER);
    }
    return ok;
}
