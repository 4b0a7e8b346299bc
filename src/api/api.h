/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/JSON API of polluxd: routes, and what they answer (docs/api.md).
 *
 *     http server -- handlers --> struct api -- reads --> cluster, reports, rounds, journal, logs
 *                                            -- post ---> the daemon: SUBMIT CANCEL LIMITS NODE
 *
 * Who writes the daemon does this:
 *
 *     api_new (&options, &api, err)
 *     http_options.routes = api_routes (&http_options.route_count)
 *     http_options.authorize = api_authorize, http_options.self = api
 *     api_serve (api, server)                 once there is one
 *
 *     each event, right before it is applied  api_believe (api, event, seq)
 *     before a full ROUND                     api_flush (api, err)
 *     when a decision is made                 api_decided (api, seconds)
 *     when a batch was committed              api_committed (api, seconds)
 *     when the timer is set                   api_plan_round (api, at_us)
 *     when api_due_us has come                api_step (api)
 *
 * All by the one thread that owns the cluster and the server.
 */
#ifndef API_API_H
#define API_API_H

#include "cluster/cluster.h"
#include "http/http.h"

struct api;
struct tokens;
struct reader;
struct round_summary;

/* All borrowed for the life of the API. */
struct api_options {
    const struct cluster *cluster;
    const struct round *round; /* how full rounds decide now; may change, at a reload */
    const char *backend;       /* its name */
    struct tokens *tokens;     /* NULL: nobody can make or drop tokens */
    struct reader *reader;     /* of the journal (store/reader.h); NULL: no events to be read */
    int64_t started_us;        /* when the daemon started, on the clock of now_us */

    /* The clock of events. */
    int64_t (*now_us) (void *self);
    /* Give the event its time, check, append and fold it.  -EINVAL: it does not fit what is
     * believed, and nothing happened; other errors: it could not be remembered.  The answer to
     * whoever asked is held until the commit (HTTP_DURABLE). */
    int (*post) (void *self, struct event *event, struct pollux_error *err);
    /* A job's running generation has reported: it trains.  NULL: nobody wants to know. */
    void (*reported) (void *self, int job);
    /* Logs of replicas, as open_log of backend/backend.h; NULL: there are none. */
    int (*open_log) (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err);
    /* The first replica that failed, as first_failure of backend/backend.h; NULL: not known. */
    int (*first_failure) (void *self, const char *job, int generation, int *ret_rank);
    void *self;
};

int api_new (const struct api_options *options, struct api **ret, struct pollux_error *err);
/* After the server was freed.  NULL is fine. */
void api_free (struct api *api);

/* For struct http_options: its routes, and its authorize with self = api. */
const struct http_route *api_routes (int *ret_count);
int api_authorize (void *self, const char *token, struct http_identity *ret);

/* The server that calls the handlers, for its counts. */
void api_serve (struct api *api, struct http_server *server);

/* An event is about to be applied, as number seq of the journal.  recovering: it is read from
 * there. */
void api_believe (struct api *api, const struct event *event, int64_t seq, bool recovering);

/* The latest rounds, oldest first, borrowed until the next event, for a snapshot; and back, before
 * any event. */
const struct round_summary *api_rounds (struct api *api, int *ret_count);
void api_restore (struct api *api, const struct round_summary *rounds, int count);

/* Post what agents reported since the last flush as one HINTS event; nothing if they were silent. */
int api_flush (struct api *api, struct pollux_error *err);

/* The last ROUND was decided in so many seconds; before its PLAN. */
void api_decided (struct api *api, double seconds);

/* All events so far are durable: those who follow them are told. */
void api_committed (struct api *api, double seconds);

/* Why requests should go elsewhere (the journal cannot be written, the daemon stops): what GET
 * /readyz says; NULL, as in the beginning: all is well.  A literal. */
void api_unready (struct api *api, const char *why);

/* The next full round is to come at that time; INT64_MAX: nobody knows. */
void api_plan_round (struct api *api, int64_t at_us);

/* Logs that are followed are looked at from time to time: when, on the clock of now_us (INT64_MAX:
 * there are none), and do it. */
int64_t api_due_us (const struct api *api);
void api_step (struct api *api);

#endif
