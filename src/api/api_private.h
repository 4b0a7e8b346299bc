/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the API share. */
#ifndef API_API_PRIVATE_H
#define API_API_PRIVATE_H

#include <sys/types.h>

#include "api/api.h"
#include "api/describe.h"
#include "api/metrics.h"

/* Flags of json_dumps.  16 digits: times of this century keep microseconds, and 0.1 stays 0.1. */
#define API_JSON (JSON_COMPACT | JSON_REAL_PRECISION (16))

struct follower;
struct watch;

struct api {
    struct api_options options;
    struct http_server *server;
    struct metrics metrics;     /* of requests */
    const char *unready;        /* why GET /readyz answers 503; NULL: it answers 200 */
    struct follower *followers; /* clients that follow events or logs */
    int64_t poll_us;            /* when logs are polled next; INT64_MAX: no client follows one */
    struct watch *watch;        /* for clients of GET /v1/watch */
    int status;                 /* of the present handler's answer, for the metrics */
};

/* The state that descriptions are made from. */
struct present api_present (const struct api *api);

/* The time on the clock of api_due_us. */
int64_t api_pace_us (const struct api *api);

/* Answer with a document, which is freed; NULL: no memory, answers 503. */
void api_reply (struct api *api, struct http_request *request, int status, json_t *body);
/* Answer with a text, which is copied. */
void api_reply_text (struct api *api, struct http_request *request, int status, const char *type,
                     const char *text);
/* Answer {"error": "sentence"}. */
void api_refuse (struct api *api, struct http_request *request, int status, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
/* Answer for a failed post: 409 if the event does not fit the cluster's state (-EINVAL), 503 if the
 * daemon stops (-ESHUTDOWN), else 507. */
void api_refuse_event (struct api *api, struct http_request *request, int code,
                       const struct pollux_error *err);

/* End the streams of tokens that have expired at this time on the clock of now_us. */
void api_end_expired (struct api *api, int64_t now_us);

/* The index of the job or node that the path names; -1, after an answer 404, if there is none. */
int api_job (struct api *api, struct http_request *request);
int api_node (struct api *api, struct http_request *request);

/* The identity of a user who has signed a request; admins: the configured ones.  -EACCES: there is none for this
 * user. */
int api_signed_identity (char *const *admins, uid_t uid, const char *name,
                         struct http_identity *ret, struct pollux_error *err);

/* Is the client an admin, or the owner of the job? */
bool api_owns (struct http_request *request, const struct job *job);
/* As api_job; -1 after an answer 403, too, if not.  doing: what only the owner may do. */
int api_own_job (struct api *api, struct http_request *request, const char *doing);

/* Read an integer query parameter: 0 and *ret, which is unchanged if the parameter is not given; or a
 * negative errno value, after an answer 400. */
int api_query_int (struct api *api, struct http_request *request, const char *name, int64_t min,
                   int64_t max, int64_t *ret);
/* The same for a parameter that is 0 or 1. */
int api_query_flag (struct api *api, struct http_request *request, const char *name, bool *ret);

/* Read the header Last-Event-ID: 0 and *ret, which is unchanged without one; or a negative errno value, after an answer
 * 400. */
int api_last_event (struct api *api, struct http_request *request, int64_t *ret);

/* Parse the body as JSON; the caller frees the document.  NULL, after an answer, if it is malformed. */
struct wire_document *api_body (struct api *api, struct http_request *request, const char *name);

/* ---- Followers: streams of answers --------------------------------------------------------- */

struct follower {
    struct api *api;
    struct http_stream *stream;
    struct follower *next, **link; /* in api->followers */
    /* Push what is available and fits into the stream.  False: the stream has ended, and the follower was
     * freed. */
    bool (*feed) (struct follower *follower);
    void (*free) (struct follower *follower);
    bool live;    /* true: polled (logs); false: fed after commits (events) */
    bool packets; /* its stream is one of packets (http_stream_open_packets) */
};

/* Open the stream, feed it once, and keep the follower in the list.  The API frees it. */
void api_follow (struct api *api, struct http_request *request, const char *type,
                 struct follower *follower);

/* End or drop the stream and free the follower.  Both return false, the result of feed. */
bool follower_end (struct follower *follower);
bool follower_drop (struct follower *follower);

/* ---- Handlers ------------------------------------------------------------------------------ */

typedef void api_handler (struct api *api, struct http_request *request);
api_handler api_page, api_asset;
api_handler api_health, api_ready, api_metrics, api_status, api_plan, api_list_rounds;
api_handler api_list_jobs, api_submit, api_show_job, api_cancel, api_limits, api_hints, api_news,
    api_explain;
api_handler api_logs, api_events, api_watch, api_playback, api_play;
api_handler api_history, api_job_history, api_show_round;
api_handler api_list_nodes, api_drain, api_resume, api_node_up, api_node_gone;
api_handler api_list_groups, api_cost;
api_handler api_list_tokens, api_make_token, api_drop_token;

/* How a recorded cluster is played back; null: the cluster is live.  NULL: no memory. */
json_t *api_playback_json (const struct api *api);

/* The last lines of the log of a job's last generation, as an array of strings: of the replica that
 * failed, or else of rank 0. */
json_t *api_last_lines (const struct api *api, const struct job *job, int lines);

/* The exit code of an ended job: 0 if it finished; that of the first replica that failed, if it failed;
 * null if it is live, was cancelled, or the code is unknown. */
json_t *api_exit_code (const struct api *api, const struct job *job);

#endif
