/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes, the daemon's calls, and what the handlers share: answers, parts of requests, and
 * followers.
 */
#include "api/api.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/number.h"
#include "api/api_private.h"
#include "base/clock.h"
#include "api/tokens.h"
#include "api/watch.h"
#include "wire/document.h"
#include "wire/json.h"

/* ---- Routes ------------------------------------------------------------------------------- */

enum {
    ANYONE = 0, /* without a token */
    ADMIN = ROLE_ADMIN,
    OWNERS = ROLE_ADMIN | ROLE_USER,
    READERS = ROLE_ADMIN | ROLE_USER | ROLE_READ_ONLY,
    AGENTS = ROLE_ADMIN | ROLE_USER | ROLE_JOB,
    ALL = ROLE_ADMIN | ROLE_USER | ROLE_READ_ONLY | ROLE_JOB,
};

/* method, path, handler, permitted roles, flags, query parameters.  docs/openapi.json has the same. */
#define ROUTES(ROUTE)                                                                              \
    ROUTE (GET, "/", api_page, ANYONE, HTTP_PAGE, NULL)                                            \
    ROUTE (GET, "/assets/{name}", api_asset, ANYONE, 0, NULL)                                      \
    ROUTE (GET, "/healthz", api_health, ANYONE, 0, NULL)                                           \
    ROUTE (GET, "/readyz", api_ready, ALL, 0, NULL)                                                \
    ROUTE (GET, "/metrics", api_metrics, READERS, 0, NULL)                                         \
    ROUTE (GET, "/v1/status", api_status, READERS, 0, NULL)                                        \
    ROUTE (GET, "/v1/jobs", api_list_jobs, READERS, 0, "phase owner ended_after limit after")      \
    ROUTE (POST, "/v1/jobs", api_submit, OWNERS, HTTP_DURABLE | HTTP_JSON | HTTP_YAML, "check")    \
    ROUTE (GET, "/v1/jobs/{name}", api_show_job, READERS, 0, NULL)                                 \
    ROUTE (POST, "/v1/jobs/{name}/cancel", api_cancel, OWNERS, HTTP_DURABLE, NULL)                 \
    ROUTE (POST, "/v1/jobs/{name}/limits", api_limits, OWNERS, HTTP_DURABLE | HTTP_JSON, NULL)     \
    ROUTE (GET, "/v1/jobs/{name}/explain", api_explain, READERS, 0, NULL)                          \
    ROUTE (GET, "/v1/jobs/{name}/history", api_job_history, READERS, 0, NULL)                      \
    ROUTE (GET, "/v1/jobs/{name}/logs", api_logs, OWNERS, 0, "generation rank tail follow")        \
    ROUTE (POST, "/v1/jobs/{name}/hints", api_hints, AGENTS, HTTP_JSON | HTTP_FREQUENT, NULL)      \
    ROUTE (POST, "/v1/jobs/{name}/runs", api_news, AGENTS, HTTP_JSON | HTTP_FREQUENT, NULL)        \
    ROUTE (GET, "/v1/nodes", api_list_nodes, READERS, 0, NULL)                                     \
    ROUTE (POST, "/v1/nodes/{name}/drain", api_drain, ADMIN, HTTP_DURABLE | HTTP_JSON, NULL)       \
    ROUTE (POST, "/v1/nodes/{name}/resume", api_resume, ADMIN, HTTP_DURABLE, NULL)                 \
    ROUTE (POST, "/v1/nodes/{name}/up", api_node_up, ADMIN, HTTP_DURABLE | HTTP_JSON, NULL)        \
    ROUTE (POST, "/v1/nodes/{name}/gone", api_node_gone, ADMIN, HTTP_DURABLE, NULL)                \
    ROUTE (GET, "/v1/groups", api_list_groups, READERS, 0, NULL)                                   \
    ROUTE (GET, "/v1/cost", api_cost, READERS, 0, "by")                                            \
    ROUTE (GET, "/v1/plan", api_plan, READERS, 0, NULL)                                            \
    ROUTE (GET, "/v1/rounds", api_list_rounds, READERS, 0, "limit")                                \
    ROUTE (GET, "/v1/rounds/{number}", api_show_round, READERS, 0, NULL)                           \
    ROUTE (GET, "/v1/history", api_history, READERS, 0, "since")                                   \
    ROUTE (GET, "/v1/events", api_events, READERS, 0, "after follow")                              \
    ROUTE (GET, "/v1/watch", api_watch, READERS, 0, "after mark")                                  \
    ROUTE (GET, "/v1/playback", api_playback, READERS, 0, NULL)                                    \
    ROUTE (POST, "/v1/playback", api_play, READERS, HTTP_JSON, NULL)                               \
    ROUTE (GET, "/v1/tokens", api_list_tokens, ADMIN, 0, NULL)                                     \
    ROUTE (POST, "/v1/tokens", api_make_token, ADMIN, HTTP_JSON, NULL)                             \
    ROUTE (DELETE, "/v1/tokens/{name}", api_drop_token, ADMIN, 0, NULL)

/* Call a handler, and count its answer for the metrics. */
static void run (struct api *api, struct http_request *request, api_handler *handler,
                 enum http_method method, const char *path)
{
    int64_t from_us = clock_monotonic_us ();
    api->status = 500;
    handler (api, request);
    metrics_answer (&api->metrics, http_method_names[method], path, api->status,
                    (double)(clock_monotonic_us () - from_us) * 1e-6);
}

#define WRAPPER(method, path, handler, roles, flags, queries)                                      \
    static void run_##handler (void *self, struct http_request *request)                           \
    {                                                                                              \
        run (self, request, handler, HTTP_##method, path);                                         \
    }
ROUTES (WRAPPER)

#define ENTRY(method, path, handler, roles, flags, queries)                                        \
    {HTTP_##method, path, run_##handler, roles, flags, queries},
static const struct http_route routes[] = {ROUTES (ENTRY)};

const struct http_route *api_routes (int *ret_count)
{
    *ret_count = (int)(sizeof (routes) / sizeof (routes[0]));
    return routes;
}

/* ---- Calls of the daemon ------------------------------------------------------------------ */

int api_new (const struct api_options *options, struct api **ret, struct pollux_error *err)
{
    struct api *api = calloc (1, sizeof (*api));
    if (!api || !(api->watch = watch_new ())) {
        free (api);
        return fail (err, -ENOMEM, "no memory for the API");
    }
    api->options = *options;
    api->poll_us = INT64_MAX;
    *ret = api;
    return 0;
}

void api_free (struct api *api)
{
    if (!api)
        return;
    while (api->followers) { /* the server was freed, so no stream refers to them */
        struct follower *follower = api->followers;
        api->followers = follower->next;
        follower->free (follower);
    }
    watch_free (api->watch);
    free (api);
}

int api_authorize (void *self, const char *token, struct http_identity *ret,
                   struct pollux_error *err)
{
    struct api *api = self;
    const struct api_options *options = &api->options;
    if (!options->tokens)
        return fail (err, -EACCES, "this server has no tokens");
    return tokens_check (options->tokens, token, options->now_us (options->self), ret, err);
}

void api_serve (struct api *api, struct http_server *server)
{
    api->server = server;
}

void api_set_unready (struct api *api, const char *why)
{
    api->unready = why;
}

struct present api_present (const struct api *api)
{
    const struct api_options *options = &api->options;
    return present_make (options->cluster, options->status, options->round,
                         options->now_us (options->self));
}

int64_t api_pace_us (const struct api *api)
{
    const struct api_options *options = &api->options;
    return options->pace_us ? options->pace_us (options->self) : options->now_us (options->self);
}

/* ---- Answers ------------------------------------------------------------------------------ */

void api_reply (struct api *api, struct http_request *request, int status, json_t *body)
{
    char *text = body ? json_dumps (body, API_JSON) : NULL;
    json_decref (body);
    api->status = text ? status : 503;
    http_answer (request, status, "application/json", text, text ? strlen (text) : 1);
}

void api_reply_text (struct api *api, struct http_request *request, int status, const char *type,
                     const char *text)
{
    api->status = status;
    http_answer_text (request, status, type, text);
}

void api_refuse (struct api *api, struct http_request *request, int status, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (sentence, sizeof (sentence), format, arguments);
    va_end (arguments);
    api->status = status;
    http_error (request, status, "%s", sentence);
}

void api_refuse_event (struct api *api, struct http_request *request, int code,
                       const struct pollux_error *err)
{
    api_refuse (api, request,
                code == -EINVAL      ? 409
                : code == -ESHUTDOWN ? 503
                                     : 507,
                "%s", err->text);
}

/* ---- Parts of requests -------------------------------------------------------------------- */

/* Answer 404, with the most similar name if there is one. */
static void refuse_name (struct api *api, struct http_request *request, const char *kind,
                         const struct nearest *nearest)
{
    const char *best = nearest->best;
    api_refuse (api, request, 404, "there is no %s %s%s%s%s", kind, nearest->word,
                best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

/* For a suggestion, only the last 4096 jobs are compared: at most a few milliseconds. */
int api_job (struct api *api, struct http_request *request)
{
    const struct cluster *cluster = api->options.cluster;
    const char *name = http_param (request, "name");
    int job = name ? cluster_find_job (cluster, name) : -1;
    if (job >= 0)
        return job;
    struct nearest nearest = nearest_start (name ? name : "", name ? strlen (name) : 0);
    for (int i = cluster->job_count - 1; i >= 0 && i >= cluster->job_count - 4096; i--)
        nearest_try (&nearest, cluster->jobs[i]->spec.name);
    refuse_name (api, request, "job", &nearest);
    return -1;
}

int api_node (struct api *api, struct http_request *request)
{
    const char *name = http_param (request, "name");
    const struct cluster *cluster = api->options.cluster;
    int node = name ? cluster_find_node (cluster, name) : -1;
    if (node >= 0)
        return node;
    struct nearest nearest = nearest_start (name ? name : "", name ? strlen (name) : 0);
    for (int i = 0; i < cluster->node_count; i++)
        nearest_try (&nearest, cluster->nodes[i].name);
    refuse_name (api, request, "node", &nearest);
    return -1;
}

bool api_owns (struct http_request *request, const struct job *job)
{
    const struct http_identity *asker = http_identity (request);
    if (asker->role == ROLE_ADMIN)
        return true;
    return asker->role == ROLE_USER && job->launch && job->launch->owner[0] &&
           strcmp (asker->name, job->launch->owner) == 0;
}

int api_own_job (struct api *api, struct http_request *request, const char *doing)
{
    int index = api_job (api, request);
    const struct job *job = index < 0 ? NULL : api->options.cluster->jobs[index];
    if (!job || api_owns (request, job))
        return index;
    const char *owner = job->launch && job->launch->owner[0] ? job->launch->owner : "no user";
    api_refuse (api, request, 403, "job %s belongs to %s: only its owner or an admin may %s",
                job->spec.name, owner, doing);
    return -1;
}

int api_query_int (struct api *api, struct http_request *request, const char *name, int64_t min,
                   int64_t max, int64_t *ret)
{
    const char *text = http_query (request, name);
    int64_t number = 0;
    if (!text)
        return 0;
    if (number_int64 (text, &number) < 0 || number < min || number > max) {
        api_refuse (api, request, 400, "%s: expected an integer from %lld to %lld, got \"%.40s\"",
                    name, (long long)min, (long long)max, text);
        return -EINVAL;
    }
    *ret = number;
    return 0;
}

int api_query_flag (struct api *api, struct http_request *request, const char *name, bool *ret)
{
    int64_t number = *ret;
    int rc = api_query_int (api, request, name, 0, 1, &number);
    *ret = number == 1;
    return rc;
}

int api_last_event (struct api *api, struct http_request *request, int64_t *ret)
{
    const char *header = http_header (request, "Last-Event-ID");
    int64_t number = 0;
    if (!header || !header[0])
        return 0;
    if (number_int64 (header, &number) < 0 || number < 0) {
        api_refuse (api, request, 400,
                    "Last-Event-ID: expected the number of an event, got \"%.40s\"", header);
        return -EINVAL;
    }
    *ret = number;
    return 0;
}

struct wire_document *api_body (struct api *api, struct http_request *request, const char *name)
{
    size_t length = 0;
    const char *text = http_body (request, &length);
    struct wire_document *document = NULL;
    struct pollux_error err;
    int rc = wire_document_parse (name, text ? text : "", length, length + 1, &document, &err);
    if (rc < 0)
        api_refuse (api, request, rc == -ENOMEM ? 503 : 400, "%s", err.text);
    return document;
}

/* ---- Followers ---------------------------------------------------------------------------- */

/* Logs are polled at this interval: short enough for a person, and a thousand of them cost one per cent
 * of a core. */
static const int64_t poll_interval_us = 250000;

static void unlink_follower (struct follower *follower)
{
    *follower->link = follower->next;
    if (follower->next)
        follower->next->link = follower->link;
    follower->free (follower);
}

static void gone (void *self)
{
    unlink_follower (self);
}

static void drained (void *self)
{
    struct follower *follower = self;
    follower->feed (follower);
}

bool follower_end (struct follower *follower)
{
    http_stream_end (follower->stream);
    unlink_follower (follower);
    return false;
}

bool follower_drop (struct follower *follower)
{
    http_stream_drop (follower->stream);
    unlink_follower (follower);
    return false;
}

void api_follow (struct api *api, struct http_request *request, const char *type,
                 struct follower *follower)
{
    static const struct http_stream_owner owner = {.gone = gone, .drained = drained};
    follower->api = api;
    api->status = 200;
    int (*open) (struct http_request *, const char *, const struct http_stream_owner *, void *,
                 struct http_stream **) =
        follower->packets ? http_stream_open_packets : http_stream_open;
    if (open (request, type, &owner, follower, &follower->stream) < 0) {
        api->status = 503;
        follower->free (follower);
        return;
    }
    follower->next = api->followers;
    follower->link = &api->followers;
    if (follower->next)
        follower->next->link = &follower->next;
    api->followers = follower;
    if (follower->feed (follower) && follower->live && api->poll_us == INT64_MAX)
        api->poll_us = api_pace_us (api) + poll_interval_us;
}

void api_committed (struct api *api)
{
    struct follower *next;
    for (struct follower *follower = api->followers; follower; follower = next) {
        next = follower->next;
        if (!follower->live)
            follower->feed (follower);
    }
    watch_committed (api);
}

void api_rewound (struct api *api)
{
    watch_restart (api);
}

int64_t api_due_us (const struct api *api)
{
    int64_t due_us = watch_due_us (api), expiry_us = INT64_MAX;
    if (api->options.tokens)
        expiry_us = tokens_due_us (api->options.tokens);
    if (api->poll_us < due_us)
        due_us = api->poll_us;
    return expiry_us < due_us ? expiry_us : due_us;
}

static void poll_logs (struct api *api, int64_t now_us)
{
    api->poll_us = INT64_MAX;
    struct follower *next;
    for (struct follower *follower = api->followers; follower; follower = next) {
        next = follower->next;
        if (follower->live && follower->feed (follower))
            api->poll_us = now_us + poll_interval_us;
    }
}

void api_step (struct api *api)
{
    int64_t now_us = api_pace_us (api);
    if (now_us >= api->poll_us)
        poll_logs (api, now_us);
    watch_step (api);
    api_end_expired (api, api->options.now_us (api->options.self));
}
