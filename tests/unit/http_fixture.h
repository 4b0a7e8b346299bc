/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with a handful of routes, and clients that use it over real sockets, in one thread
 * and with a clock that the test sets.
 *
 *     GET  /open                     no token needed: "open"
 *     GET  /page                     a page that sites may link to: "page", compressed
 *     GET  /echo/{name}?a=&b=        ECHO_ROLES: a description of the request
 *     POST /echo/{name}              the same with a body of JSON or YAML
 *     POST /durable                  held until released: 201 "done"
 *     GET  /large                    LARGE bytes, more than sockets buffer
 *     GET  /stream                   fixture.stream
 *     GET  /packets                  fixture.stream, of packets
 *     GET  /json                     {"text": "xx..."} of 5,000 bytes
 *     GET  /silent                   its handler sends no answer
 *
 * Tokens: "ann" and "bob" have role 1, "eve" has role 2.
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include "http/http.h"

enum { HTTP_FIXTURE_LARGE = 32 << 20, HTTP_FIXTURE_RECEIVED = 1 << 20 };

struct http_fixture {
    struct http_server *server;
    struct http_options options;
    const char *listen[3];
    char directory[64], unix_address[96];
    int64_t now_us;
    struct http_stream *stream; /* the last stream opened */
    int opened, gone, drained, handled;
    char *received; /* by the last http_fixture_receive, with a NUL at the end */
    size_t received_length;
    bool closed; /* the server has closed the connection */
};

/* *state is a struct http_fixture without a server; options can be changed before http_fixture_start. */
int http_fixture_set_up (void **state);
int http_fixture_tear_down (void **state);
void http_fixture_start (struct http_fixture *fixture);

/* Connect to listen[address].  The caller closes the socket. */
int http_fixture_connect (struct http_fixture *fixture, int address);
void http_fixture_send (int client, const char *text);

/* Step until the server would have to wait. */
void http_fixture_run (struct http_fixture *fixture);

/* Step and read until `until` has been received (NULL: until the connection is closed).  The test
 * fails if no more bytes arrive. */
const char *http_fixture_receive (struct http_fixture *fixture, int client, const char *until);

/* Run, then read the bytes that have arrived; sets `closed`. */
const char *http_fixture_poll (struct http_fixture *fixture, int client);

/* Send a request on a new connection, and close it.  Returns the whole answer. */
const char *http_fixture_ask (struct http_fixture *fixture, const char *request);

#endif
