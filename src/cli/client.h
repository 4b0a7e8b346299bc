/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon, as a command sees it: requests go out, JSON or a stream of bytes comes back.
 *
 *     rc = client_open (options.server, &client, err);
 *     rc = client_get (client, client_path ("/v1/jobs/", name, "").text, &job, err);
 *     client_close (client);
 *
 * Refusals are sentences in err, and codes that main turns into exit codes:
 *     -EHOSTUNREACH   no answer, or not from a polluxd; the sentence says how to start one
 *     -EINVAL         the daemon found the request wrong; client_problems may have the places
 *     -EREMOTEIO      it was understood, and refused or failed
 *     -ENOMEM
 * The token is read from a file and travels in a header only: never in arguments or messages.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "pollux/pollux.h"

struct client;

/* Where the daemon is: server, or if NULL POLLUX_SERVER, what the state directory's file `address`
 * says, or http://127.0.0.1:7467.  An address is HOST:PORT, http://..., https://... or
 * unix:/path.  Nothing is sent yet.  *ret belongs to the caller (client_close). */
int client_open (const char *server, struct client **ret, struct pollux_error *err);
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
/* body may be NULL: none. */
int client_post (struct client *client, const char *path, const json_t *body, json_t **ret,
                 struct pollux_error *err);
/* The same with a body of any type. */
int client_send (struct client *client, const char *path, const char *type, const char *body,
                 size_t length, json_t **ret, struct pollux_error *err);

/* The problems of the last refused document: an array of {line, column, path, message}, borrowed
 * until the next request; NULL if there were none. */
const json_t *client_problems (const struct client *client);

/* Receives a stream piece by piece; anything but 0 ends it with that code. */
struct client_sink {
    int (*take) (void *self, const char *bytes, size_t length, struct pollux_error *err);
    void *self;
};

/* Get a path and hand on what comes, until the daemon ends it.  With no time limit: following may
 * last for days. */
int client_stream (struct client *client, const char *path, struct client_sink sink,
                   struct pollux_error *err);

/* ---- Without waiting ---------------------------------------------------------------------- */

/* Start to get a path; another request that is under way is given up. */
int client_begin (struct client *client, const char *path, struct pollux_error *err);

/* Wait for something to happen: bytes from the daemon, input at fd (-1: none), a signal, or the end
 * of the time.  1 if the request has ended well (with its answer in *ret), 0 if it is still under
 * way, or its failure. */
int client_poll (struct client *client, int fd, int timeout_ms, json_t **ret,
                 struct pollux_error *err);

#endif
