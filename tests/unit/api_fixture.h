/* SPDX-License-Identifier: Apache-2.0 */
/* The API without a daemon: a cluster_fixture, a journal, tokens and run directories in a new
 * folder, and requests over a pair of sockets. */
#ifndef TESTS_API_FIXTURE_H
#define TESTS_API_FIXTURE_H

#include <jansson.h>

#include "api/api.h"
#include "api/tokens.h"
#include "loop/cluster_status.h"
#include "store/reader.h"
#include "store/store.h"
#include "cluster_fixture.h"

struct api_fixture {
    struct cluster_fixture cluster_fixture;
    struct cluster_status status;
    struct api *api;
    struct http_server *server;
    struct store *store;
    struct reader *reader;
    struct tokens *tokens;
    int runs;      /* descriptor of its run directories */
    void *backend; /* the local one, for logs */
    char folder[64];
    char admin[TOKEN_SIZE], ann[TOKEN_SIZE], bob[TOKEN_SIZE], eve[TOKEN_SIZE]; /* eve: read-only */
    const char *headers; /* lines for the next requests, each with CR LF; NULL: none */
    int posts;           /* events posted by handlers */
    int post_failure;    /* the next post fails with this code; 0: none */
    /* The newest log becomes this long when the one before it is asked for; 0: it stays as it is. */
    off_t log_grows;
};

void api_fixture_open (struct api_fixture *fixture, int nodes, int slots);
void api_fixture_close (struct api_fixture *fixture);

/* An answer.  The caller clears it (reply_clear). */
struct reply {
    int status;
    char *head, *body; /* body: decoded, without chunks */
    json_t *json;      /* NULL: the body is not JSON */
};
void reply_clear (struct reply *reply);

/* Send a request and wait for the answer.  type NULL: no body. */
struct reply api_fixture_ask (struct api_fixture *fixture, const char *token, const char *method,
                              const char *target, const char *type, const char *body);

/* Send a request; returns the status of the answer. */
int api_fixture_status (struct api_fixture *fixture, const char *token, const char *method,
                        const char *target, const char *type, const char *body);

/* Request a stream.  Returns the socket to read from; the caller closes it. */
int api_fixture_stream (struct api_fixture *fixture, const char *token, const char *target);
/* All bytes received so far, with head and chunks, as text.  The caller frees it. */
char *api_fixture_received (struct api_fixture *fixture, int socket);

/* Remove the head and the sizes of chunks from a received stream. */
void stream_plain (char *text);

/* Append and apply an event, as the daemon does. */
int api_fixture_take (struct api_fixture *fixture, struct event *event, struct pollux_error *err);
/* Post the reports since the last call as one HINTS event, as before a full round. */
int api_fixture_post_reports (struct api_fixture *fixture);
/* One step of the server and the API, and a commit. */
void api_fixture_step (struct api_fixture *fixture);

#endif
