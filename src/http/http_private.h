/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the server and its connections; a connection has at most one
 * request, and a request at most one stream.
 *
 *     http_server --+-- listeners
 *                   +-- engines: MHD_Daemon (all connections, none of the listeners)
 *                   +-- connections: connection --- http_request --- http_stream
 *                   +-- gone: streams without a connection whose owners are not notified yet
 */
#ifndef HTTP_HTTP_PRIVATE_H
#define HTTP_HTTP_PRIVATE_H

#include <microhttpd.h>
#include <stdarg.h>

#include "http/deadline.h"
#include "http/gzip.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/rate_limit.h"
#include "http/raw_head.h"
#include "http/target.h"
#include "http/tls.h"

/* The kind of object behind an epoll event: the first member of the object. */
enum source { SOURCE_MHD, SOURCE_LISTENER, SOURCE_CONNECTION };

struct listener {
    enum source source;
    struct address address;
    int fd; /* -1: closed */
    bool tls;
};

/* A daemon of libmicrohttpd. */
struct engine {
    struct engine *next;
    struct http_server *server;
    struct MHD_Daemon *mhd;
    int connections;
    bool tls;
    bool retired; /* replaced: it ends when its last connection does */
};

enum phase {
    PHASE_HEAD,   /* waiting for the client to send a head */
    PHASE_BODY,   /* waiting for the client to send the body */
    PHASE_HELD,   /* suspended until http_server_release, or until a credential is checked */
    PHASE_ANSWER, /* waiting for the client to read the answer */
    PHASE_STREAM, /* the same for a stream, whose end is not known */
};

struct connection {
    enum source source;
    enum phase phase;
    struct deadline deadline;
    struct http_server *server;
    struct engine *engine;
    struct MHD_Connection *mhd;
    struct connection *next, *previous;
    struct http_request *request; /* NULL between requests */
    int fd;
    bool over_unix, suspended, half_closed;
    bool exposed; /* others on the network can read it: neither TLS nor of this machine */
    bool closing; /* MHD's next call is answered with "close" */
    struct address_host peer, local;
};

/* The headers that this room reads. */
struct head {
    const char *host, *origin, *site, *mode, *destination, *authorization, *type, *encoding,
        *length, *transfer, *expect;
    bool malformed; /* one of them is repeated or has a NUL in it, or a name is invalid */
    struct raw_head raw;
};

enum { HEADERS_MAX = 8 };
struct http_request {
    struct connection *connection;
    char *raw;       /* the path as it was sent; the text of parsed follows it */
    char *parsed;    /* the whole target, changed in place by target_parse */
    const char *uri; /* the target where libmicrohttpd has it */
    size_t uri_length;
    char *whole; /* the whole target as it was sent; it follows parsed */
    bool begun, handled;
    bool refused;         /* answered before its handler was called */
    bool bodiless;        /* HEAD */
    char method_text[16]; /* for the access log: letters, ? for other bytes, cut */
    int64_t begin_us;     /* of clock_monotonic_us, when the head was complete */
    enum http_method method;
    struct head head;
    struct target target;
    const struct http_route *route; /* NULL: none matches, or refused before it was looked up */
    struct http_identity identity;

    char *body;
    size_t length, size; /* bytes received, bytes allocated */
    uint64_t discarded;  /* bytes of a refused request's body */
    unsigned body_type;

    int status; /* of the answer; 0: none yet */
    char type[64], *answer;
    size_t answer_length;
    struct {
        char name[32], value[256];
    } headers[HEADERS_MAX];
    int header_count;
    struct http_stream *stream;
    struct http_request *next_held;

    /* Of a signed request; the ticket is 0 unless it waits. */
    const char *credential; /* MHD's memory; NULL: it is not signed, or was checked */
    uint64_t ticket;
    struct http_request *next_signed;
};

struct http_stream {
    struct connection *connection; /* NULL: gone */
    struct http_server *server;
    const struct http_stream_owner *owner; /* NULL: notified, or the owner has ended it */
    void *self;
    char *data; /* used bytes from start on, of size */
    size_t start, used, size;
    uint64_t pushed, taken,
        goal; /* bytes in total; at the deadline, taken must have reached goal */
    bool ended, dropped, notify_drained, notify_gone;
    /* Of packets: used is the number of their bytes that were not taken.  data is not used. */
    struct http_packet *packets[HTTP_PACKETS_MAX];
    int packet_count;
    size_t packet_at; /* bytes taken of the first one */
    bool has_packets, gzip, head_sent, tail_sent;
    struct gzip_sum sum; /* of all packets sent */
    bool needs_deadline; /* the next step sets its deadline */
    struct http_stream *next_gone;
};

struct http_server {
    enum source source;
    struct http_options options; /* with its limits filled in */
    char **hosts;
    int epoll;
    struct listener *listeners;
    struct engine *engines, *plain, *secure; /* all; for new connections; secure NULL: no TLS */
    struct connection *connections;
    struct deadlines deadlines;
    struct rate_limit *request_limit, *refusal_limit;
    int64_t now_us;
    int64_t accept_us; /* when to accept again; INT64_MAX: accepting now */
    bool stopping, freeing;
    bool needs_deadline; /* a stream needs a deadline */
    bool notify;         /* a stream's owner must be notified */
    bool resumed;        /* a connection was resumed, which MHD's descriptor does not signal */
    int half_closed;     /* number of half-closed connections */
    size_t bodies_bytes;
    struct http_request *held, **held_end;
    int held_count;
    struct http_request *waiting; /* for the check of their credentials */
    uint64_t tickets;             /* given so far */
    struct http_stream *gone;
    struct http_counts counts;
};

/* ---- accept.c: new connections ----------------------------------------------------------- */

/* Connections beyond the limit that may be closing while new ones are accepted. */
enum { CLOSING_MAX = 128 };

void accept_some (struct http_server *server, const struct listener *listener);
/* Watch all listeners (again). */
void accept_resume (struct http_server *server);
void listener_watch (struct http_server *server, const struct listener *listener, bool on);

/* ---- connection.c: connections ------------------------------------------------------------- */

void connection_notify (void *engine, struct MHD_Connection *mhd, void **socket_context,
                        enum MHD_ConnectionNotificationCode code);
void connection_phase (struct connection *connection, enum phase phase);
void connection_suspend (struct connection *connection);
void connection_resume (struct connection *connection);
/* Close it in any phase: at once, or in the next step if MHD must do it. */
void connection_cut (struct connection *connection);
/* The client has closed its sending side; it may still read. */
void connection_half_closed (struct connection *connection);
/* After MHD_run: close half-closed connections whose request is incomplete, and half-closed streams,
 * because a client leaves a stream this way. */
void connections_sweep (struct http_server *server);

/* ---- engine.c: the daemons of libmicrohttpd -------------------------------------------------- */

/* tls NULL: a plain one.  The server owns it. */
int engine_start (struct http_server *server, const struct tls *tls, struct engine **ret,
                  struct pollux_error *err);
/* Has one of them work that does not need to wait? */
bool engines_are_busy (const struct http_server *server);
/* MHD_run for all; those that are retired and have no connection end. */
void engines_run (struct http_server *server);
void engines_free (struct http_server *server);

/* ---- request.c: from the head to the handler ----------------------------------------------- */

void *request_new (void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_handle (void *server, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_size, void **context);
/* NULL does nothing. */
void request_free (struct http_request *request);
void request_completed (void *server, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code);

/* ---- refuse.c: the checks before a handler -------------------------------------------------- */

/* All checks that need the head only: sets route and identity, or answers with a refusal. */
void request_check_head (struct http_request *request, const char *method, const char *version);
/* The checks of a signed request whose identity is known now: role and rate. */
void request_check_identity (struct http_request *request);
/* Refuse a missing or wrong token or credential: 401, or 429 if there were too many. */
void request_refuse_token (struct http_request *request, const char *sentence);

/* ---- signed.c: requests with a credential ---------------------------------------------------- */

/* Does the request have a credential, and not a token?  Then it is kept for signed_begin. */
bool signed_note (struct http_request *request);
/* May its body take so many bytes?  Always, if it has no credential that is to be checked. */
bool signed_has_room (const struct http_request *request, size_t size);
/* The body is complete: start the check, and suspend the request.  False: it was answered. */
bool signed_begin (struct http_request *request);
/* The request has ended: forget it. */
void signed_forget (struct http_request *request);
/* The server stops: refuse all that wait. */
void signed_refuse_all (struct http_server *server);

/* ---- reject.c: heads that cannot be trusted --------------------------------------------------- */

/* Answer 400 with this sentence (without quotes) and close the connection. */
void request_reject (struct http_request *request, const char *sentence);
/* Is this no value of Content-Length: a number below 10^18? */
bool length_is_wrong (const char *length);
/* The error log of libmicrohttpd: rejects requests that it is about to refuse for their Content-Length. */
void engine_log (void *engine, const char *format, va_list arguments);

/* ---- answer.c -------------------------------------------------------------------------------- */

/* Hand the answer to MHD; MHD_NO: close. */
enum MHD_Result answer_send (struct http_request *request);
/* Free an answer that was given but not sent; another one can follow. */
void answer_clear (struct http_request *request);

/* ---- access.c: the access log ---------------------------------------------------------------- */

/* An answer is on its way: pass its description to options.access. */
void access_report (const struct http_request *request);

/* ---- stream.c -------------------------------------------------------------------------------- */

struct MHD_Response *stream_response (struct http_stream *stream);
/* Its request has ended: keep it in server->gone until its owner is notified. */
void stream_leave (struct http_stream *stream);
void stream_free (struct http_stream *stream);
/* Set the deadlines of streams with new bytes since the last step. */
void streams_set_deadlines (struct http_server *server);
/* Call drained and gone of the owners that must be notified. */
void streams_notify (struct http_server *server);

#endif
