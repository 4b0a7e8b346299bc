/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the API share. */
#ifndef API_API_PRIVATE_H
#define API_API_PRIVATE_H

#include "api/api.h"
#include "api/describe.h"
#include "api/metrics.h"

/* How documents are written.  16 digits: microseconds of this century, and 0.1 is 0.1. */
#define API_JSON (JSON_COMPACT | JSON_REAL_PRECISION (16))

struct follower;

struct api {
    struct api_options options;
    struct http_server *server;
    struct metrics metrics;     /* of requests */
    const char *unready;        /* why GET /readyz answers 503; NULL: it answers 200 */
    struct follower *followers; /* of events and of logs */
    int64_t look_us;            /* when logs are looked at next; INT64_MAX: nobody follows one */
    int status;                 /* of the answer that is being given, for the metrics */
};

/* What is described now. */
struct present api_present (const struct api *api);

/* Answer with a document, which is taken over; NULL: memory is short. */
void api_reply (struct api *api, struct http_request *request, int status, json_t *body);
/* Answer with a text that stays the caller's. */
void api_reply_text (struct api *api, struct http_request *request, int status, const char *type,
                     const char *text);
/* Answer with an error's sentence. */
void api_refuse (struct api *api, struct http_request *request, int status, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
/* Answer for an event that could not be posted: 409 if it does not fit, else 507. */
void api_refuse_event (struct api *api, struct http_request *request, int code,
                       const struct pollux_error *err);

/* The job or node of the path; -1, and the answer is given, if there is none. */
int api_job (struct api *api, struct http_request *request);
int api_node (struct api *api, struct http_request *request);

/* Is it the asker's own, or may the asker see and do everything? */
bool api_owns (struct http_request *request, const struct job *job);
/* The same; if not, the answer is given. */
bool api_may (struct api *api, struct http_request *request, const struct job *job,
              const char *doing);

/* A number among the query parameters: 0 and *ret, which is left alone if there is none; or a
 * negative errno value, and the answer is given. */
int api_query_int (struct api *api, struct http_request *request, const char *name, int64_t min,
                   int64_t max, int64_t *ret);
/* The same for 0 or 1. */
int api_query_flag (struct api *api, struct http_request *request, const char *name, bool *ret);

/* The body as a JSON document, the caller's; NULL, and the answer is given. */
struct wire_document *api_body (struct api *api, struct http_request *request, const char *name);

/* ---- Followers: answers that go on --------------------------------------------------------- */

struct follower {
    struct api *api;
    struct http_stream *stream;
    struct follower *next, **link; /* among all of them */
    /* Give what there is and fits.  False: there will be nothing more, and it was freed. */
    bool (*feed) (struct follower *follower);
    void (*free) (struct follower *follower);
    bool live; /* a log: looked at from time to time; events: after commits */
};

/* Begin the stream, feed it once, and keep it.  It is freed in any case. */
void api_follow (struct api *api, struct http_request *request, const char *type,
                 struct follower *follower);

/* The stream ends well, or breaks off; false for feed. */
bool follower_end (struct follower *follower);
bool follower_drop (struct follower *follower);

/* ---- Handlers ------------------------------------------------------------------------------ */

typedef void api_handler (struct api *api, struct http_request *request);
api_handler api_health, api_ready, api_metrics, api_status, api_plan, api_list_rounds;
api_handler api_list_jobs, api_submit, api_show_job, api_cancel, api_limits, api_hints, api_explain;
api_handler api_logs, api_events;
api_handler api_list_nodes, api_drain, api_resume;
api_handler api_list_tokens, api_make_token, api_drop_token;

/* The last lines of a job's last generation, as an array of strings: of the replica that failed,
 * if one did. */
json_t *api_last_lines (const struct api *api, const struct job *job, int lines);

/* How a job has ended, as a shell says it: 0 if it finished, the code of the first replica that
 * failed if it failed; null if it lives, was cancelled, or nobody can tell. */
json_t *api_exit_code (const struct api *api, const struct job *job);

#endif
