/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with a handful of routes, and clients that speak to it over real sockets, in one thread
 * and with a clock that only the test moves.
 *
 *     GET  /open                     everybody: "open"
 *     GET  /echo/{name}?a=&b=        ECHO_ROLES: what came in
 *     POST /echo/{name}              the same with a body of JSON or YAML
 *     POST /durable                  held until released: 201 "done"
 *     GET  /large                    LARGE bytes, more than sockets buffer
 *     GET  /stream                   served.stream
 *     GET  /silent                   its handler forgets to answer
 *
 * Tokens: "ann" and "bob" have role 1, "eve" has role 2.
 */
#ifndef TESTS_SERVED_H
#define TESTS_SERVED_H

#include "http/http.h"

enum { SERVED_LARGE = 32 << 20, SERVED_HEARD = 1 << 20 };

struct served {
    struct http_server *server;
    struct http_options options;
    const char *listen[3];
    char directory[64], unix_address[96];
    int64_t now_us;
    struct http_stream *stream; /* the last one that was opened */
    int opened, gone, drained, handled;
    char *heard; /* by the last served_hear: text with a NUL behind it */
    bool closed; /* and whether the server has closed the connection */
};

/* *state is a struct served without a server; options can be changed before served_start. */
int served_set_up (void **state);
int served_tear_down (void **state);
void served_start (struct served *served);

/* A connection to listen[address]; the caller's (close). */
int served_connect (struct served *served, int address);
void served_say (int client, const char *text);

/* Step until nothing is left to do without waiting. */
void served_run (struct served *served);

/* Step and read until `until` has been heard (NULL: until the connection is closed).  Fails the
 * test if nothing more comes. */
const char *served_hear (struct served *served, int client, const char *until);

/* Read what is there, after running: whether `closed`. */
const char *served_now (struct served *served, int client);

/* One request on a connection of its own, which is closed after it; the whole answer. */
const char *served_ask (struct served *served, const char *request);

#endif
