/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of a command to the daemon.  A request returns JSON or a stream of bytes.
 *
 *     rc = client_open (options.server, &client, err);
 *     rc = client_get (client, client_path ("/v1/jobs/", name, "").text, &job, err);
 *     client_close (client);
 *
 * Failures have a sentence in err and a code, which main turns into the exit status:
 *     -EHOSTUNREACH   no answer, or not from polluxd; the sentence says how to start it
 *     -EINVAL         the request is invalid; client_problems may name the places
 *     -EREMOTEIO      the request is valid but was refused or failed
 *     -ENOMEM
 * The token is read from a file and sent in a header; it never appears in arguments or messages.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "pollux/pollux.h"

struct client;

/* What the options say about the daemon. */
struct client_server {
    const char
        *address;   /* NULL: POLLUX_SERVER, the address in the state directory's file `address`, or
                            http://127.0.0.1:7467 */
    const char *ca; /* a file of certificates; NULL: POLLUX_CA; or, if the address is from the state
                            directory, its tls.pem; or the system's */
};

/* Open a client.  An address is HOST:PORT, http://..., https://... or unix:/path.  Nothing is sent yet.
 * *ret belongs to the caller (client_close). */
int client_open (const struct client_server *server, struct client **ret, struct pollux_error *err);
void client_close (struct client *client);

/* The address, for messages. */
const char *client_address (const struct client *client);

/* A path with a name in the middle, percent-encoded. */
struct client_path {
    char text[1024];
};
struct client_path client_path (const char *before, const char *name, const char *after);

/* A request and its answer, a JSON document that belongs to the caller. */
int client_get (struct client *client, const char *path, json_t **ret, struct pollux_error *err);
int client_delete (struct client *client, const char *path, json_t **ret, struct pollux_error *err);
/* body NULL: no body. */
int client_post (struct client *client, const char *path, const json_t *body, json_t **ret,
                 struct pollux_error *err);
/* The same with a body of any type. */
int client_send (struct client *client, const char *path, const char *type, const char *body,
                 size_t length, json_t **ret, struct pollux_error *err);

/* The problems of the last refused document: an array of {line, column, path, message}, borrowed
 * until the next request; NULL if there were none. */
const json_t *client_problems (const struct client *client);

/* Receives a stream in pieces; a code other than 0 ends it with that code. */
struct client_sink {
    int (*take) (void *self, const char *bytes, size_t length, struct pollux_error *err);
    void *self;
};

/* Get a path and pass its bytes to the sink until the daemon ends the stream.  No time limit. */
int client_stream (struct client *client, const char *path, struct client_sink sink,
                   struct pollux_error *err);

/* ---- Without waiting ---------------------------------------------------------------------- */

/* Start to get a path.  Cancels the running request, if any. */
int client_begin (struct client *client, const char *path, struct pollux_error *err);

/* Wait for bytes from the daemon, input at fd (-1: none), a signal, or the timeout.  1: the request
 * has succeeded, with its answer in *ret.  0: it still runs.  Negative: it failed. */
int client_poll (struct client *client, int fd, int timeout_ms, json_t **ret,
                 struct pollux_error *err);

#endif
