/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks before a handler, in the order of http.h.  A check that fails answers the request, and the
 * checks after it are left out.
 */
#include "http/http_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "http/header_check.h"

const char *const http_method_names[] = {"GET", "POST", "PUT", "DELETE"};
_Static_assert(sizeof (http_method_names) / sizeof (http_method_names[0]) == HTTP_METHODS,
               "a name for each method");

static enum MHD_Result note_header (void *self, enum MHD_ValueKind kind, const char *key,
                                    size_t key_size, const char *value, size_t value_size)
{
    struct head *head = self;
    const struct {
        const char *name;
        const char **place;
    } known[] = {
        {"Host", &head->host},
        {"Origin", &head->origin},
        {"Sec-Fetch-Site", &head->site},
        {"Sec-Fetch-Mode", &head->mode},
        {"Sec-Fetch-Dest", &head->destination},
        {"Authorization", &head->authorization},
        {"Content-Type", &head->type},
        {"Content-Encoding", &head->encoding},
        {"Content-Length", &head->length},
        {"Transfer-Encoding", &head->transfer},
        {"Expect", &head->expect},
    };
    (void)kind;
    if (key == NULL || value == NULL || strlen (key) != key_size || strlen (value) != value_size) {
        head->malformed = true;
        return MHD_YES;
    }
    raw_head_add (&head->raw, key, value);
    if (!check_name (key) || !check_value (value))
        head->malformed = true;
    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (strcasecmp (key, known[i].name) == 0) {
            if (*known[i].place != NULL)
                head->malformed = true;
            *known[i].place = value;
        }
    return MHD_YES;
}

/* Reject a head if it is not certain where its request ends. */
static void check_head (struct http_request *request, const char *version)
{
    const struct head *head = &request->head;
    bool chunked = head->transfer != NULL && strcasecmp (head->transfer, "chunked") == 0 &&
                   strcmp (version, "HTTP/1.0") != 0;
    if (head->malformed || (head->length != NULL && head->transfer != NULL))
        request_reject (request, "the headers are malformed or contradict each other");
    else if (head->transfer != NULL && !chunked)
        request_reject (request, "the only Transfer-Encoding is chunked, in HTTP/1.1");
    else if (head->length != NULL && length_is_wrong (head->length))
        request_reject (request, "the Content-Length is not a number");
    else if (raw_head_is_known () && !raw_head_end (&head->raw))
        request_reject (
            request,
            "the head has NUL bytes, two blanks in its first line, or a header of several lines");
}

static void check_form (struct http_request *request)
{
    struct pollux_error err;
    if (!target_parse (request->parsed, &request->target, &err))
        http_error (request, 400, "%s", err.text);
}

/* The page of this path; NULL: there is none. */
static const struct http_route *page_of (const struct http_request *request)
{
    const struct http_options *options = &request->connection->server->options;
    for (int i = 0; i < options->route_count; i++)
        if ((options->routes[i].flags & HTTP_PAGE) != 0 &&
            target_matches (&request->target, options->routes[i].pattern))
            return &options->routes[i];
    return NULL;
}

/* A link of another site, or of a mail, may open a page: what it shows is this server's, and it gets no token. */
static bool site_is_right (const struct http_request *request)
{
    const struct head *head = &request->head;
    return check_site (head->origin, head->site, head->host) ||
           (check_opens_page (head->origin, head->mode, head->destination) &&
            page_of (request) != NULL);
}

static void check_origin (struct http_request *request)
{
    const struct connection *connection = request->connection;
    const struct http_options *options = &connection->server->options;
    const struct head *head = &request->head;
    if (connection->over_unix)
        return;
    if (head->host == NULL)
        http_error (request, 400, "there is no Host header");
    else if (!check_host (head->host, connection->local.text, options->hosts, options->host_count))
        http_error (request, 421,
                    "the Host header does not name this server: use its address or localhost, or "
                    "list the name under host_names in its configuration");
    else if (!site_is_right (request))
        http_error (request, 403, "requests from pages of another site are refused");
}

static void find_route (struct http_request *request, const char *method)
{
    const struct http_options *options = &request->connection->server->options;
    char allow[64] = "";
    for (int i = 0; i < options->route_count; i++) {
        const struct http_route *route = &options->routes[i];
        const char *name = http_method_names[route->method];
        if (!target_matches (&request->target, route->pattern))
            continue;
        if (strcmp (method, name) == 0) {
            request->route = route;
            request->method = route->method;
            return;
        }
        size_t length = strlen (allow);
        snprintf (allow + length, sizeof (allow) - length, "%s%s", length > 0 ? ", " : "",
                  route->method == HTTP_GET ? "GET, HEAD" : name);
    }
    if (allow[0] == '\0') {
        http_error (request, 404, "there is nothing at %s", request->raw);
        return;
    }
    http_answer_header (request, "Allow", allow);
    http_error (request, 405, "%s takes %s only", request->raw, allow);
}

/* Tells how to sign, too: another client of the same address may have used up its rate. */
static void limit (struct http_request *request)
{
    struct http_server *server = request->connection->server;
    server->counts.limited++;
    http_answer_header (request, "Retry-After", "1");
    if (server->options.challenge != NULL)
        http_answer_header (request, "WWW-Authenticate", server->options.challenge);
    http_error (request, 429, "too many requests; try again in a second");
}

/* The rate limit is per address. */
void request_refuse_token (struct http_request *request, const char *sentence)
{
    const struct connection *connection = request->connection;
    struct http_server *server = connection->server;
    request->identity = (struct http_identity){0};
    if (!rate_limit_take (server->refusal_limit, connection->peer.text,
                          strlen (connection->peer.text), server->now_us)) {
        limit (request);
        return;
    }
    http_answer_header (request, "WWW-Authenticate", "Bearer");
    if (server->options.challenge != NULL)
        http_answer_header (request, "WWW-Authenticate", server->options.challenge);
    http_error (request, 401, "%s", sentence);
}

/* Refuse a role; the sentence lists the permitted roles. */
static void refuse_role (struct http_request *request)
{
    const struct http_options *options = &request->connection->server->options;
    const char *own = options->role_name ? options->role_name (request->identity.role) : NULL;
    unsigned wanted = request->route->roles;
    char names[128] = "";
    for (unsigned bit = 1; own && bit != 0 && bit <= wanted; bit <<= 1) {
        size_t used = strlen (names);
        const char *name = wanted & bit ? options->role_name (bit) : NULL;
        if (name)
            snprintf (names + used, sizeof (names) - used, "%s%s", used ? " or " : "; it takes ",
                      name);
    }
    http_error (request, 403, "the role of this %s%s%s%s does not permit %s %s%s",
                check_bearer (request->head.authorization) ? "token" : "user", own ? ", " : "",
                own ? own : "", own ? "," : "", http_method_names[request->method], request->raw,
                names);
}

static void check_token (struct http_request *request)
{
    const struct http_options *options = &request->connection->server->options;
    const char *token = check_bearer (request->head.authorization);
    struct pollux_error err = {.text = "no token is taken here"};
    if (request->route->roles == 0 || signed_note (request))
        return;
    if (token == NULL)
        request_refuse_token (
            request, options->verify == NULL
                         ? "a token is needed: send the header Authorization: Bearer TOKEN"
                         : "a token or a signature is needed: send the header Authorization: "
                           "Bearer TOKEN, or sign the request with munge");
    else if (request->connection->exposed && !options->insecure)
        http_error (
            request, 403,
            "a token is not taken over the network without TLS, because others may have read it: "
            "use https, and revoke this token");
    else if (options->authorize == NULL ||
             options->authorize (options->self, token, &request->identity, &err) < 0)
        request_refuse_token (request, err.text);
    else if ((request->identity.role & request->route->roles) == 0)
        refuse_role (request);
}

static void check_rate (struct http_request *request)
{
    const struct connection *connection = request->connection;
    char key[HTTP_NAME_SIZE + sizeof (connection->peer.text) + 16];
    /* The user who has signed is not known yet: request_check_identity.  Other users have the same address. */
    if (request->credential != NULL)
        return;
    /* Without a token, the rate limit is per address. */
    if (request->identity.role != 0)
        snprintf (key, sizeof (key), "%u %s", request->identity.role, request->identity.name);
    else
        snprintf (key, sizeof (key), "from %s", connection->peer.text);
    if (!rate_limit_take (connection->server->request_limit, key, strlen (key),
                          connection->server->now_us))
        limit (request);
}

void request_check_identity (struct http_request *request)
{
    if ((request->identity.role & request->route->roles) == 0)
        refuse_role (request);
    else
        check_rate (request);
}

static void check_queries (struct http_request *request)
{
    const char *words = request->route->queries;
    const char *unknown = target_unknown (&request->target, words);
    if (unknown != NULL && words != NULL)
        http_error (request, 400, "unknown parameter '%.64s'; expected one of: %s", unknown, words);
    else if (unknown != NULL)
        http_error (request, 400, "unknown parameter '%.64s'; this route has none", unknown);
}

static void check_body (struct http_request *request)
{
    const struct head *head = &request->head;
    const struct http_limits *limits = &request->connection->server->options.limits;
    uint64_t length = head->length != NULL ? strtoull (head->length, NULL, 10) : 0;
    unsigned takes = request->route->flags & (HTTP_JSON | HTTP_YAML);
    if (head->transfer == NULL && length == 0)
        return;
    request->body_type = head->type != NULL ? check_type (head->type) : 0;
    if (takes == 0)
        http_error (request, 415, "%s takes no body", request->raw);
    else if ((request->body_type & takes) == 0)
        http_error (request, 415, "the body's Content-Type must be application/json%s",
                    takes & HTTP_YAML ? " or application/yaml" : "");
    else if (head->encoding != NULL && strcasecmp (head->encoding, "identity") != 0)
        http_error (request, 415,
                    "encoded bodies are not accepted: send the body without Content-Encoding");
    else if (length > limits->body_bytes)
        http_error (request, 413, "the body has %llu bytes; at most %zu are taken",
                    (unsigned long long)length, limits->body_bytes);
    else if (request->connection->server->bodies_bytes + length > limits->bodies_bytes)
        http_error (request, 503, "too many request bodies at one time; try again later");
}

void request_check_head (struct http_request *request, const char *method, const char *version)
{
    void (*const checks[]) (struct http_request *) = {check_token, check_rate, check_queries,
                                                      check_body};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (request->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    request->head.raw = raw_head_begin (method, request->uri, request->uri_length, version,
                                        info != NULL ? info->header_size : 0);
    MHD_get_connection_values_n (request->connection->mhd, MHD_HEADER_KIND, note_header,
                                 &request->head);
    check_head (request, version);
    if (request->status == 0)
        check_form (request);
    if (request->status == 0)
        check_origin (request);
    request->bodiless = strcmp (method, "HEAD") == 0;
    if (request->status == 0)
        find_route (request, request->bodiless ? "GET" : method);
    for (size_t i = 0; i < sizeof (checks) / sizeof (checks[0]) && request->status == 0; i++)
        checks[i](request);
}
