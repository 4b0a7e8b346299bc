/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server for a caller's event loop: connections, checks and routes.  What a request means
 * is up to the handlers.
 *
 *     sockets -> libmicrohttpd -> checks (below) -> route -> handler -> http_answer   at once, or
 *                                                                       held          (HTTP_DURABLE)
 *                                                                       http_stream   in pieces
 *
 * One thread owns a server and makes all calls; the server starts no thread.  A loop around it:
 *
 *     epoll_ctl (own_epoll, EPOLL_CTL_ADD, http_server_fd (server), EPOLLIN)
 *     for (;;) {
 *         wait until the descriptor is readable or http_server_due_us has come
 *         http_server_step (server, now_us)                 handlers run in here, and only here
 *         ... commit the changes of the handlers ...
 *         http_server_release (server, 0, NULL)             send the held answers
 *     }
 *
 * Before a handler runs, these are checked; a refusal is answered with {"error": "sentence"}:
 *   400  the head is well-formed: one Host, one length or chunks, names of headers, no NUL (otherwise the
 *        connection is closed, as it is not certain where the request ends); the target is well-formed
 *   421  Host names this machine: loopback, the address that was connected to, or options.hosts
 *        (against DNS rebinding: a page of another site whose name now means 127.0.0.1)
 *   403  it does not come from a page of another site (Origin, Sec-Fetch-Site), except by a link that opens
 *        a page (HTTP_PAGE)
 *   404, 405 (with Allow)  there is such a route; HEAD is GET without the body
 *   401, 403  the token is known, and its role is one of the route's (a signed request: see verify below)
 *   429  its rate is within limits.rate (a token bucket per role and name; refused tokens and
 *        signatures: per peer)
 *   400  every query parameter is one of route.queries, and none is repeated
 *   415, 413  the body has a type and a size that the route takes
 * On a Unix socket, which no browser reaches, Host and Origin are not checked; the token is.  A token that
 * comes over the network without TLS is refused (403), unless options.insecure is set: others may have read it.
 *
 * A slow client is disconnected: it has limits.head_s to send the head of its first request, idle_s for
 * each later one, request_s for the body, answer_s to read its answer.  These are for the whole
 * part; single bytes do not extend them.  At the limit of connections, the one that has waited
 * longest without a request is closed for a new one.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct tls;
struct http_server;
struct http_request;
struct http_stream;
struct http_packet;

/* HEAD is handled as HTTP_GET. */
enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_DELETE };
enum { HTTP_METHODS = HTTP_DELETE + 1 };
extern const char *const http_method_names[HTTP_METHODS];

enum {
    HTTP_NAME_SIZE = 64,   /* of an identity, with its NUL */
    HTTP_PARAM_SIZE = 128, /* of a {parameter} of a path, decoded, with its NUL */
    HTTP_QUERIES_MAX = 16, /* parameters behind the question mark */
};

/* The client of a request.  Roles are bits; the caller defines their meaning. */
struct http_identity {
    unsigned role;
    char name[HTTP_NAME_SIZE];
    int number; /* the caller's; 0 if it has none */
};

enum http_flags {
    HTTP_DURABLE = 1,  /* its answers are held until http_server_release */
    HTTP_JSON = 2,     /* takes a body of application/json */
    HTTP_YAML = 4,     /* takes a body of application/yaml (x-yaml and text/yaml, too) */
    HTTP_FREQUENT = 8, /* called often by programs; no effect here, for the access log's level */
    HTTP_PAGE = 16,    /* a page: links of other sites may open it; their scripts cannot read it */
};

/* A handler is called with options.self and the request, which is valid until it returns.  It
 * answers exactly once, with http_answer*, http_error or http_stream_open; if it does not, the
 * client gets a 500. */
struct http_route {
    enum http_method method;
    const char *pattern; /* "/v1/jobs/{name}/limits": a {parameter} is one whole segment */
    void (*handle) (void *self, struct http_request *request);
    unsigned roles;      /* bits of the permitted roles; 0: no token is needed or looked at */
    unsigned flags;      /* enum http_flags.  Neither HTTP_JSON nor HTTP_YAML: a body is refused */
    const char *queries; /* the known query parameters, separated by blanks; NULL: none */
};

/* Limits of everything that a client can enlarge.  0 means the default, given here. */
struct http_limits {
    size_t body_bytes; /* of one request: 1 MiB */
    size_t
        bodies_bytes; /* of all requests together: 64 MiB; then 503.  Of requests of one address whose
                           * signatures are not checked yet: one eighth */
    size_t header_bytes; /* request line and headers: 16 KiB; then 431 */
    size_t stream_bytes; /* buffered for one stream: 256 KiB */
    int connections;     /* 1024 */
    int per_address;     /* connections per address (the Unix socket counts as one): 768 */
    int streams;         /* at one time: 512, with 128 MiB of buffers at most; then 503 */
    int streams_per_name; /* of one role and name: 160, fifty pages with a log each, and some; then 429 */
    double rate;          /* requests per second and identity, on average: 1000 */
    double burst;         /* requests at once: 2000 */
    double refusals;  /* tokens and signatures refused per second and address: 10; at once 100 */
    double head_s;    /* 10 */
    double idle_s;    /* 75 */
    double request_s; /* 30 */
    double answer_s;  /* 60; of a stream: to read what was buffered when the time began */
};

/* An answered request, for an access log.  It holds no secret: no token, query, header or body.
 * Borrowed for the call. */
struct http_access {
    const struct http_identity *identity; /* role 0 and "" without a valid token */
    const char *peer;                     /* "127.0.0.1", "::1", "unix" */
    const char *method;                   /* "GET", "HEAD", ...: letters, and ? for other bytes */
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
     * are not resolved.  Port 0: a free one.  A Unix socket of a process that has ended is
     * replaced; its mode is 0600. */
    const char *const *listen;
    int listen_count;
    /* With a certificate, all addresses but Unix sockets and loopback ones are served with TLS 1.2 or
     * later.  NULL: none are.  Borrowed for http_server_new. */
    const struct tls *tls;
    bool insecure;            /* take tokens over the network without TLS */
    const char *const *hosts; /* further names of this server for the Host header, without ports */
    int host_count;
    const struct http_route *routes; /* borrowed for the server's life */
    int route_count;
    struct http_limits limits;
    /* 0 and *ret if the token is valid, else a negative errno value and the sentence of the answer
     * 401.  Called for routes with roles.  The token is the client's text, any bytes but NUL; a
     * wrong one must take constant time. */
    int (*authorize) (void *self, const char *token, struct http_identity *ret,
                      struct pollux_error *err);
    /* Another way to authorize: a credential that signs the whole request, sent as "Authorization: SCHEME
     * CREDENTIAL".  It is checked when the body is complete, after the other checks, and that may take
     * time: verify starts the check and returns at once.  The request waits until the caller, outside of
     * http_server_step, finds it with http_signed and calls http_admit or http_refuse.  peer is the client's
     * address.  Users share it, so only refusals count there.  verify NULL: there is no such way.  A negative
     * return value: it cannot be checked now, answered with 503; -EACCES: it is no credential, 401. */
    const char *scheme;    /* "Munge" */
    const char *challenge; /* for WWW-Authenticate, besides Bearer: "Munge uid=123" */
    int (*verify) (void *self, uint64_t ticket, const char *peer, const char *credential,
                   struct pollux_error *err);
    const char *(*role_name) (unsigned role); /* of one bit, for messages; NULL if it is no role */
    void *self;                               /* for authorize and the handlers */
    /* Called once for every answer, when it begins to be sent; NULL: not wanted.  Requests that
     * libmicrohttpd refuses itself (no HTTP, a head beyond its limit) and connections that are closed
     * without an answer are not seen. */
    void (*access) (void *access_self, const struct http_access *access);
    void *access_self;
};

/* ---- The server ---------------------------------------------------------------------------- */

/* Bind and listen on all addresses.  now_us: any monotonic clock, the same for all calls.  On
 * success *ret is the caller's (http_server_free).  -EADDRINUSE and the like: the sentence names the
 * address; -EINVAL: an address or a route is malformed. */
int http_server_new (const struct http_options *options, int64_t now_us, struct http_server **ret,
                     struct pollux_error *err);

/* Close all connections at once.  gone is called for open streams; held answers are not sent.  Unix
 * sockets are unlinked.  NULL is fine. */
void http_server_free (struct http_server *server);

/* Address number i of options.listen, with its real port, in the same notation. */
const char *http_server_address (const struct http_server *server, int i);

/* What comes before address number i in a URL: "http://", "https://", or "" for a Unix socket. */
const char *http_server_scheme (const struct http_server *server, int i);

/* Use another certificate for new connections.  For a server that has one already. */
int http_server_set_tls (struct http_server *server, const struct tls *tls,
                         struct pollux_error *err);

/* An epoll descriptor, the same for the server's life.  It is readable when a step has work. */
int http_server_fd (const struct http_server *server);

/* When to step even if the descriptor is not readable: the earliest deadline; INT64_MIN if there is work
 * already, as after http_server_release, http_stream_push and http_stream_end, which the descriptor
 * does not signal; INT64_MAX if nothing is due, as on an idle server. */
int64_t http_server_due_us (const struct http_server *server);

/* Do all work that does not need to wait.  Handlers and streams' callbacks are called from here only. */
void http_server_step (struct http_server *server, int64_t now_us);

/* Release all held answers: the next step, which is due at once, sends them.  Call it after the changes
 * of a step were committed.  If they could not be, give a status (507, 503, ...): all held answers
 * are replaced by that error with that sentence. */
void http_server_release (struct http_server *server, int status, const char *sentence);

/* The number of held answers. */
int http_server_held (const struct http_server *server);

/* Stop gracefully: accept no new connection and no further request, and end streams after their
 * buffered bytes (the next step calls gone).  Then step until http_server_busy is 0 or a time limit of
 * the caller's has passed, and call http_server_free. */
void http_server_stop (struct http_server *server);

/* Close the streams of all identities with this name, whatever their role: their token was revoked. */
void http_server_cut_off (struct http_server *server, const char *name);

/* Connections with a request that is not completely answered. */
int http_server_busy (const struct http_server *server);

/* Serve a connected stream socket like an accepted one.  It belongs to the server from now on; on
 * failure it is closed. */
int http_server_add (struct http_server *server, int fd, struct pollux_error *err);

/* ---- Signed requests (options.verify) -------------------------------------------------------- */

/* The request that waits for the check of its credential; NULL: its client has gone.  http_method_text,
 * http_target and http_body tell what was sent. */
struct http_request *http_signed (struct http_server *server, uint64_t ticket);

/* The credential is right: go on with the request in the next step, as this identity. */
void http_admit (struct http_request *request, const struct http_identity *identity);

/* The credential is wrong, 401, or could not be checked, 503. */
void http_refuse (struct http_request *request, int status, const char *sentence);

/* Counters since the start, for metrics. */
struct http_counts {
    uint64_t accepted, turned_away; /* connections; turned away: beyond the limits */
    uint64_t cut_off;         /* connections closed at a deadline, or for a new one at the limit */
    uint64_t requests;        /* whose head was complete */
    uint64_t answers[6];      /* by the first digit of the status */
    uint64_t limited;         /* 429 */
    int connections, streams; /* now */
};
struct http_counts http_server_counts (const struct http_server *server);

/* ---- A request, inside its handler ---------------------------------------------------------- */

/* The value of {name} in the route's pattern, decoded: 1..127 bytes of UTF-8 without control
 * characters and slashes, never "." or "..".  NULL if the pattern has no such parameter. */
const char *http_param (const struct http_request *request, const char *name);

/* The value of a query parameter, decoded UTF-8; "" without a value; NULL if it is not given. */
const char *http_query (const struct http_request *request, const char *name);

/* The value of a header, the first if it is repeated; NULL if there is none. */
const char *http_header (const struct http_request *request, const char *name);

/* The body: length bytes, followed by a NUL. */
const char *http_body (const struct http_request *request, size_t *ret_length);

/* HTTP_JSON or HTTP_YAML as the Content-Type says; 0 if there is no body. */
unsigned http_body_type (const struct http_request *request);

/* The client; role 0 and "" on routes without roles. */
const struct http_identity *http_identity (const struct http_request *request);

/* The method ("HEAD", too) and the target with its query, as they were sent. */
const char *http_method_text (const struct http_request *request);
const char *http_target (const struct http_request *request);

/* The method, the path as it was sent (with percent signs, without the query), and the peer
 * ("127.0.0.1", "::1", "unix"), for logs. */
enum http_method http_method (const struct http_request *request);
const char *http_path (const struct http_request *request);
const char *http_peer (const struct http_request *request);

/* ---- Answers -------------------------------------------------------------------------------- */

/* Add a header to the answer, before the answer is given.  At most eight, of up to 255 bytes.  Every answer has
 * X-Content-Type-Options: nosniff and, unless the handler adds another, Cache-Control: no-store. */
void http_answer_header (struct http_request *request, const char *name, const char *value);

/* Answer with these bytes from malloc, which the server frees in any case.  JSON of more than 1 KiB is compressed by
 * gzip if the client accepts it.  body NULL: no body if length
 * is 0; otherwise the caller had no memory for it, and the answer is a 503. */
void http_answer (struct http_request *request, int status, const char *type, char *body,
                  size_t length);

/* The same with text that is copied. */
void http_answer_text (struct http_request *request, int status, const char *type,
                       const char *text);

/* Answer with text that is compressed already (gzip) and is copied.  A client that does not accept gzip gets it
 * decompressed; more than limit bytes are an error of the caller's, and the answer is a 503. */
void http_answer_gzip (struct http_request *request, int status, const char *type,
                       const void *bytes, size_t length, size_t limit);

/* Does the client have this version of the answer: is the tag (with its quotes) in If-None-Match? */
bool http_has_version (const struct http_request *request, const char *tag);

/* Answer {"error": "sentence"}.  Control characters become question marks; it is cut at 511 bytes. */
void http_error (struct http_request *request, int status, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* ---- Streams -------------------------------------------------------------------------------- */

/* A stream ends in exactly one of two ways: its owner calls http_stream_end or http_stream_drop, or the
 * server calls gone.  Then the handle is invalid.  The callbacks are called from http_server_step and
 * http_server_free only. */
struct http_stream_owner {
    void (*gone) (
        void *self); /* the client has disconnected or was too slow, or the server stops */
    void (*drained) (void *self); /* the buffer has become empty; may be NULL */
};

/* Answer 200 with a body in chunks (HTTP/1.0: until the connection closes).  On failure the client gets
 * 429 or 503, and gone is not called. */
int http_stream_open (struct http_request *request, const char *type,
                      const struct http_stream_owner *owner, void *self, struct http_stream **ret);

/* A text that is sent to many streams: it is kept once and compressed once.  text is from malloc and belongs to the
 * packet, also on failure; NULL: no memory, or text was NULL. */
struct http_packet *http_packet_new (char *text, size_t length);
/* The caller is done with it; streams that send it keep it.  NULL is fine. */
void http_packet_free (struct http_packet *packet);

/* As http_stream_open, for a stream of packets; compressed by gzip if the client accepts it.  A packet arrives
 * whole: its last byte needs no later one to be decompressed. */
int http_stream_open_packets (struct http_request *request, const char *type,
                              const struct http_stream_owner *owner, void *self,
                              struct http_stream **ret);

/* Send a packet after those that are on their way.  -ENOBUFS: HTTP_PACKETS_MAX are; wait for drained.  -ENOMEM. */
enum { HTTP_PACKETS_MAX = 4 };
int http_stream_send (struct http_stream *stream, struct http_packet *packet);

/* Are packets or bytes on their way, which the client has not read? */
bool http_stream_is_busy (const struct http_stream *stream);

/* Free bytes of the buffer: the most that http_stream_push takes now. */
size_t http_stream_room (const struct http_stream *stream);

/* Append all bytes.  -ENOBUFS: they do not fit, and nothing was appended; wait for drained, or drop the
 * client. */
int http_stream_push (struct http_stream *stream, const void *bytes, size_t length);

/* End the body after the buffered bytes. */
void http_stream_end (struct http_stream *stream);

/* Close the connection without the end of the body, so that the client sees an error. */
void http_stream_drop (struct http_stream *stream);

#endif
