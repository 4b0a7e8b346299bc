/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/JSON API of polluxd (docs/api.md): routes, handlers and the descriptions they answer with.
 *
 *     http server -- handlers --> struct api -- reads --> cluster, cluster_status, journal, logs
 *                                            -- post ---> SUBMIT, CANCEL, LIMITS, NODE and POWER events
 *                                            -- report -> agents' reports
 *                                            -- news ---> supervisors' news of their runs
 *
 * The API owns no scheduling state: it reads what the daemon owns and asks the daemon for changes.
 * The daemon uses it like this:
 *
 *     api_new (&options, &api, err)
 *     http_options.routes = api_routes (&http_options.route_count)
 *     http_options.authorize = api_authorize, http_options.verify = api_verify, http_options.self = api
 *     api_serve (api, server)                 after http_server_new
 *
 *     after each commit                       api_committed (api)
 *     when api_due_us has come                api_step (api)
 *     when munge_worker_fd is readable        api_verified (api)
 *
 * All calls come from the one thread that owns the cluster and the server.
 */
#ifndef API_API_H
#define API_API_H

#include "api/playback.h"
#include "base/log_reader.h"
#include "cluster/cluster.h"
#include "http/http.h"

struct api;
struct cluster_status;
struct munge_worker;
struct launch;
struct tokens;
struct reader;
struct run_news;

/* All borrowed for the life of the API. */
struct api_options {
    const struct cluster *cluster;
    const struct cluster_status *status; /* loop/cluster_status.h */
    const struct round *round;           /* parameters of full rounds; a reload changes them */
    const char *backend;                 /* its name */
    struct tokens *tokens;      /* NULL: no request is authorized, and no token can be made */
    struct munge_worker *munge; /* decodes credentials; NULL: none are taken */
    const char *challenge;      /* how to sign, for GET /healthz: "Munge uid=123"; NULL: not */
    char *const *admins;        /* users of munge who are admins; NULL at the end, or NULL */
    struct reader *reader; /* of the journal (store/reader.h); NULL: GET /v1/events answers 503 */
    int64_t started_us;    /* when the daemon started, on the clock of now_us */

    /* The clock of events. */
    int64_t (*now_us) (void *self);
    /* The clock of api_due_us, for the pace of streams; NULL: now_us. */
    int64_t (*pace_us) (void *self);
    /* Set the event's time, check, append and apply it.  -EINVAL: it does not fit the cluster's
     * state, and nothing changed; other errors: it could not be appended.  The answer to the
     * request is held until the commit (HTTP_DURABLE). */
    int (*post) (void *self, struct event *event, struct pollux_error *err);
    /* Keep a valid report of a job (report_set_take).  -ESTALE: it is of a generation that does not
     * run; -ENOMEM. */
    int (*report) (void *self, const struct report *report, int generation,
                   struct pollux_error *err);
    /* A supervisor tells how its run goes.  -ESTALE: it is of a generation that does not run;
     * -EINVAL: there is no such rank.  NULL: news are ignored. */
    int (*news) (void *self, int job, const struct run_news *news, struct pollux_error *err);
    /* A report of the job was malformed; why is the error message (report_set_refuse). */
    void (*report_refused) (void *self, int job, const char *why);
    /* Can the backend run this job?  < 0: a sentence for its owner.  NULL: every job. */
    int (*check) (void *self, const struct launch *launch, struct pollux_error *err);
    /* Open a file of a replica's log, as open_log of backend/backend.h; NULL: no logs. */
    int (*open_log) (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err);
    /* A piece of it in memory instead, as read_log of backend/backend.h; NULL: files are opened. */
    int (*read_log) (void *self, const char *job, int generation, int rank, int64_t lines,
                     const struct log_position *from, struct log_piece *ret,
                     struct pollux_error *err);
    /* The oldest generation with files, as oldest_log of backend/backend.h; NULL: the first.  And the
     * bytes that a job's logs may have, for messages. */
    int (*oldest_log) (void *self, const char *job, int last, int *ret);
    int64_t log_limit;
    /* Where a job's checkpoints are, as checkpoint_dir of backend/backend.h; NULL: only its own
     * directory is known. */
    char *(*checkpoint_dir) (void *self, const struct job *job);
    /* How a recorded cluster is played, and to play it otherwise; both NULL: it is live. */
    struct playback (*playback) (void *self);
    void (*play) (void *self, const struct playback_change *change);
    /* The first replica that failed, as first_failure of backend/backend.h; NULL: unknown. */
    int (*first_failure) (void *self, const char *job, int generation, int *ret_rank);
    void *self;
};

int api_new (const struct api_options *options, struct api **ret, struct pollux_error *err);
/* Call it after http_server_free.  NULL is fine. */
void api_free (struct api *api);

/* For struct http_options: its routes, and its authorize and verify with self = api. */
const struct http_route *api_routes (int *ret_count);
int api_authorize (void *self, const char *token, struct http_identity *ret,
                   struct pollux_error *err);
int api_verify (void *self, uint64_t ticket, const char *peer, const char *credential,
                struct pollux_error *err);

/* The worker has decoded credentials: go on with their requests. */
void api_verified (struct api *api);

/* Set the server that calls the handlers: its counts are metrics, and revoking a token cuts off its
 * streams. */
void api_serve (struct api *api, struct http_server *server);

/* All events so far are durable: send them to clients that follow GET /v1/events and GET /v1/watch. */
void api_committed (struct api *api);

/* The cluster was replaced by an earlier state of it: clients of GET /v1/watch get a new snapshot. */
void api_rewound (struct api *api);

/* From now on GET /readyz answers 503 with this sentence (a literal); NULL, the initial value: it
 * answers 200. */
void api_set_unready (struct api *api, const char *why);

/* Logs that clients follow are polled, changes are collected for GET /v1/watch, and the streams of a token end when it
 * expires: the time of the next step on the clock of pace_us (INT64_MAX: none is due), and the step. */
int64_t api_due_us (const struct api *api);
void api_step (struct api *api);

#endif
