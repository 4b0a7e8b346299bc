/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server inside somebody else's epoll: bytes and routes, and nothing of what they mean.
 *
 *     sockets -> libmicrohttpd -> checks (below) -> route -> handler -> http_answer   at once, or
 *                                                                       held          (HTTP_DURABLE)
 *                                                                       http_stream   bit by bit
 *
 * One thread owns a server and calls everything here; no other thread is made.  A loop around it:
 *
 *     epoll_ctl (own_epoll, EPOLL_CTL_ADD, http_server_fd (server), EPOLLIN)
 *     for (;;) {
 *         wait until the descriptor is readable or http_server_due_us has come
 *         http_server_step (server, now_us)                 handlers run in here, and only here
 *         ... commit what the handlers wanted remembered ...
 *         http_server_release (server, 0, NULL)             now the held answers may go
 *     }
 *
 * Before a handler runs, these hold, or the client has got its refusal as {"error": "sentence"}:
 *   400  the request is well-formed: target, percent signs, one Host, one length, no NUL
 *   421  Host names this machine: loopback, the address that was connected to, or options.hosts
 *        (a page of another site whose name was rebound to 127.0.0.1 gets no further)
 *   403  it does not come from a page of another site (Origin, Sec-Fetch-Site)
 *   404, 405 (with Allow)  there is such a route; HEAD is GET without the body
 *   401, 403  the token is known, and its role is one of the route's
 *   429  its rate is within limits.rate (a token bucket per role and name; refused tokens: per peer)
 *   400  every query parameter is one of route.queries, and none is there twice
 *   415, 413  the body has a type and a size that the route takes
 * On a Unix socket Host and Origin do not matter: no browser gets there.  The token does.
 *
 * A client that dawdles is cut off: limits.head_s to send the head of its first request, idle_s for
 * each later one, request_s for the body, answer_s to read its answer.  No trickle of bytes extends
 * these.  At the limit of connections the one that has kept us waiting longest for a head makes
 * room.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct http_server;
struct http_request;
struct http_stream;

/* HEAD is handled as HTTP_GET. */
enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_DELETE };
enum { HTTP_METHODS = HTTP_DELETE + 1 };
extern const char *const http_method_names[HTTP_METHODS];

enum {
    HTTP_NAME_SIZE = 64,   /* of an identity, with its NUL */
    HTTP_PARAM_SIZE = 128, /* of a {parameter} of a path, decoded, with its NUL */
    HTTP_QUERIES_MAX = 16, /* parameters behind the question mark */
};

/* Who asks.  What a role means is the caller's business: one bit each. */
struct http_identity {
    unsigned role;
    char name[HTTP_NAME_SIZE];
};

enum http_flags {
    HTTP_DURABLE = 1,  /* its answers are held until http_server_release */
    HTTP_JSON = 2,     /* takes a body of application/json */
    HTTP_YAML = 4,     /* takes a body of application/yaml (x-yaml and text/yaml, too) */
    HTTP_FREQUENT = 8, /* called often by programs; no effect here, for the access log's level */
};

/* A handler is called with options.self and the request, which is valid until it returns.  It
 * answers exactly once, with http_answer*, http_error or http_stream_open; if it does not, the
 * client gets a 500. */
struct http_route {
    enum http_method method;
    const char *pattern; /* "/v1/jobs/{name}/limits": a {parameter} is one whole segment */
    void (*handle) (void *self, struct http_request *request);
    unsigned roles;      /* bits of those who may; 0: everybody, and no token is looked at */
    unsigned flags;      /* enum http_flags.  Neither HTTP_JSON nor HTTP_YAML: a body is refused */
    const char *queries; /* the known query parameters, separated by blanks; NULL: none */
};

/* Everything a stranger can enlarge.  0 means the default, which is given here. */
struct http_limits {
    size_t body_bytes;    /* of one request: 1 MiB */
    size_t bodies_bytes;  /* of all requests at one time: 64 MiB; then 503 */
    size_t header_bytes;  /* request line and headers: 16 KiB; then 431 */
    size_t stream_bytes;  /* buffered for one stream: 256 KiB */
    int connections;      /* 1024 */
    int per_address;      /* connections of one address (the Unix socket is one): 768 */
    int streams;          /* at one time: 256; then 503 */
    int streams_per_name; /* of one role and name: 64; then 429 */
    double rate;          /* requests per second and identity, in the long run: 1000 */
    double burst;         /* and at once: 2000 */
    double refusals;      /* refused tokens per second and address, at once ten times that: 10 */
    double head_s;        /* 10 */
    double idle_s;        /* 75 */
    double request_s;     /* 30 */
    double answer_s;      /* 60; of a stream: for what was buffered when it last caught up */
};

/* An answered request, for an access log.  It holds no secret: no token, query, header or body.
 * Borrowed for the call. */
struct http_access {
    const struct http_identity *identity; /* role 0 and "" without a valid token */
    const char *peer;                     /* "127.0.0.1", "::1", "unix" */
    const char *method;                   /* "GET", "HEAD" or what else came: letters only */
    const struct http_route *route;       /* NULL: none was found */
    const char *path;                     /* http_access_path */
    int status;
    double seconds; /* from the complete head to the answer; commits included, sending not */
};

/* The path of a request without its query, made safe for logs: bytes that are not printable ASCII
 * become %XX, segments as long as a token become "...", and the end is cut. */
enum { HTTP_ACCESS_PATH = 256 };
void http_access_path (const char *raw, char ret[HTTP_ACCESS_PATH]);

struct http_options {
    /* "127.0.0.1:7467", "[::1]:7467", "localhost:7467" (which is 127.0.0.1), "unix:/path".  Names
     * are not looked up.  Port 0: a free one.  A socket left behind by a dead process is
     * replaced; the socket's mode is 0600. */
    const char *const *listen;
    int listen_count;
    const char *const *hosts; /* further names of this server for the Host header, without ports */
    int host_count;
    const struct http_route *routes; /* stay the caller's, as long as the server is there */
    int route_count;
    struct http_limits limits;
    /* 0 and *ret if the token is known, else a negative errno value.  Called for routes with
     * roles, with any bytes a stranger has sent (no NUL); must take constant time for a wrong
     * secret. */
    int (*authorize) (void *self, const char *token, struct http_identity *ret);
    const char *(*role_name) (unsigned role); /* of one bit, for refusals; NULL if it is no role */
    void *self;                               /* for authorize and the handlers */
    /* Called once for every answer, when it begins to be sent; NULL: not wanted.  Requests that
     * libmicrohttpd refuses itself (no HTTP, a head beyond its limit) and connections that are closed
     * without an answer are not seen. */
    void (*access) (void *access_self, const struct http_access *access);
    void *access_self;
};

/* ---- The server ---------------------------------------------------------------------------- */

/* Bind and listen on all addresses.  now_us: any monotonic clock, the same for all calls.  On
 * success *ret is the caller's (http_server_free).  -EADDRINUSE and the like name the address;
 * -EINVAL: an address or a route that makes no sense. */
int http_server_new (const struct http_options *options, int64_t now_us, struct http_server **ret,
                     struct pollux_error *err);

/* Close everything at once.  Streams that are still open are told (gone); held answers are lost.
 * Unix sockets are unlinked.  NULL is fine. */
void http_server_free (struct http_server *server);

/* Where address number i of options.listen really is: with its port, in the same notation. */
const char *http_server_address (const struct http_server *server, int i);

/* A descriptor that is readable when there is something to do (an epoll's own).  It stays the same
 * for the server's life. */
int http_server_fd (const struct http_server *server);

/* When to step even if the descriptor stays silent: the earliest deadline; the past (INT64_MIN) if
 * work is waiting already, as after http_server_release, http_stream_push and _end, of which the
 * descriptor says nothing; INT64_MAX if nothing is due.  An idle server has no deadline. */
int64_t http_server_due_us (const struct http_server *server);

/* Do all that can be done without waiting.  Handlers and streams' callbacks are called from here
 * only. */
void http_server_step (struct http_server *server, int64_t now_us);

/* Let the held answers go: they are sent by the next step, which is due at once.
 * With a status (507, 503 ...) all of them become that error with that sentence instead.  No
 * answer stays held behind this call; call it after each step whose effects have been committed,
 * or could not be. */
void http_server_release (struct http_server *server, int status, const char *sentence);

/* Answers that wait for http_server_release. */
int http_server_held (const struct http_server *server);

/* Stop gracefully: no new connection, no second request on the ones that are there, and streams
 * end after their buffers (their gone is called by the next step).  Step on until
 * http_server_busy is 0 or patience ends, then http_server_free. */
void http_server_stop (struct http_server *server);

/* Cut off the streams of those who go by that name, whatever their role: their token is not good any
 * more. */
void http_server_cut_off (struct http_server *server, const char *name);

/* Connections that still have a request in work. */
int http_server_busy (const struct http_server *server);

/* An already connected stream socket, as if it had been accepted; the server's from now on, and
 * closed on failure. */
int http_server_add (struct http_server *server, int fd, struct pollux_error *err);

/* What happened since the start, for metrics. */
struct http_counts {
    uint64_t accepted, turned_away; /* connections; turned away: over the limits */
    uint64_t cut_off;               /* connections that missed a deadline or had to make room */
    uint64_t requests;              /* whose head was complete */
    uint64_t answers[6];            /* by the first digit of the status */
    uint64_t limited;               /* 429 */
    int connections, streams;       /* now */
};
struct http_counts http_server_counts (const struct http_server *server);

/* ---- A request, inside its handler ---------------------------------------------------------- */

/* The value of {name} in the route's pattern, decoded: 1..127 bytes of UTF-8 without control
 * characters and slashes, never "." or "..".  NULL if the pattern has none such. */
const char *http_param (const struct http_request *request, const char *name);

/* The value of a query parameter, decoded UTF-8; "" if it has none; NULL if it is not there. */
const char *http_query (const struct http_request *request, const char *name);

/* A header's value, the first one's; NULL if it is not there. */
const char *http_header (const struct http_request *request, const char *name);

/* The body: length bytes and one NUL behind them. */
const char *http_body (const struct http_request *request, size_t *ret_length);

/* HTTP_JSON or HTTP_YAML as the Content-Type says; 0 if there is no body. */
unsigned http_body_type (const struct http_request *request);

/* Who asks; role 0 and "" where no token was looked at. */
const struct http_identity *http_identity (const struct http_request *request);

/* The method, the path as it came (with percent signs, without the query), and the peer
 * ("127.0.0.1", "::1", "unix"), for logs. */
enum http_method http_method (const struct http_request *request);
const char *http_path (const struct http_request *request);
const char *http_peer (const struct http_request *request);

/* ---- Answers -------------------------------------------------------------------------------- */

/* One more header for the answer, before it is given; at most four, short ones. */
void http_answer_header (struct http_request *request, const char *name, const char *value);

/* Answer with these bytes, from malloc: they belong to the server now, whatever happens.  NULL: no
 * body (length 0), or, with a length, a sign that memory is short, which becomes a 503. */
void http_answer (struct http_request *request, int status, const char *type, char *body,
                  size_t length);

/* The same with text that stays the caller's. */
void http_answer_text (struct http_request *request, int status, const char *type,
                       const char *text);

/* {"error": "sentence"}; control characters in it become question marks, and it is cut at 512
 * bytes. */
void http_error (struct http_request *request, int status, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* ---- Streams -------------------------------------------------------------------------------- */

/* Exactly one of these ends a stream: the owner by http_stream_end or _drop, or the server by
 * calling gone; after either the handle is invalid.  Both are called from http_server_step (and
 * http_server_free) only, never from inside another function here. */
struct http_stream_owner {
    void (*gone) (void *self);    /* the client went away, was too slow, or the server stops */
    void (*drained) (void *self); /* the buffer has become empty; NULL: does not matter */
};

/* Answer 200 with chunks (to HTTP/1.0: until the connection closes).  If it fails, the client has
 * got its error (429, 503), gone will not be called, and there is nothing left to do. */
int http_stream_open (struct http_request *request, const char *type,
                      const struct http_stream_owner *owner, void *self, struct http_stream **ret);

/* Bytes that http_stream_push would take now. */
size_t http_stream_room (const struct http_stream *stream);

/* Append all of it, or, with -ENOBUFS, nothing: wait for drained, or drop the slow client. */
int http_stream_push (struct http_stream *stream, const void *bytes, size_t length);

/* Send what is buffered, then end well. */
void http_stream_end (struct http_stream *stream);

/* Break off, so that the client does not take it for the end. */
void http_stream_drop (struct http_stream *stream);

#endif
