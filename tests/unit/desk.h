/* SPDX-License-Identifier: Apache-2.0 */
/* The API with everything behind it but a daemon: a town, a journal, tokens and run directories in
 * a fresh folder, and requests over a pair of sockets. */
#ifndef TESTS_DESK_H
#define TESTS_DESK_H

#include <jansson.h>

#include "api/api.h"
#include "api/tokens.h"
#include "loop/cluster_status.h"
#include "store/reader.h"
#include "store/store.h"
#include "town.h"

struct desk {
    struct town town;
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
    int posts;        /* events posted by handlers */
    int post_failure; /* what post answers with, once; 0: it works */
};

void desk_open (struct desk *desk, int nodes, int slots);
void desk_close (struct desk *desk);

/* An answer.  The caller clears it. */
struct reply {
    int status;
    char *head, *body; /* without chunks */
    json_t *json;      /* NULL if it is none */
};
void reply_clear (struct reply *reply);

/* Ask and wait for the answer.  type NULL: no body. */
struct reply desk_ask (struct desk *desk, const char *token, const char *method, const char *target,
                       const char *type, const char *body);

/* The same for those who only look at the status. */
int desk_status (struct desk *desk, const char *token, const char *method, const char *target,
                 const char *type, const char *body);

/* Ask for a stream: a socket to read from, the caller's (close). */
int desk_stream (struct desk *desk, const char *token, const char *target);
/* All that has come there by now, head and chunks and all, as text (free). */
char *desk_heard (struct desk *desk, int socket);

/* Take the head and the chunks' sizes out of all that was heard. */
void stream_plain (char *text);

/* Let an event happen, with all that the daemon would do around it. */
int desk_take (struct desk *desk, struct event *event, struct pollux_error *err);
/* Post the reports since the last call as one HINTS event, as before a full round. */
int desk_post_reports (struct desk *desk);
/* Let the server and the API work, and commit. */
void desk_turn (struct desk *desk);

#endif
