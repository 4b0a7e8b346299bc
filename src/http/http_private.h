/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the server with its connections, and on each connection at
 * most one request, which has at most one stream.
 *
 *     http_server --+-- listeners
 *                   +-- MHD_Daemon (all connections, none of the listeners)
 *                   +-- connections: connection --- http_request --- http_stream
 *                   +-- gone: streams without a connection whose owners have not been told yet
 */
#ifndef HTTP_HTTP_PRIVATE_H
#define HTTP_HTTP_PRIVATE_H

#include <microhttpd.h>

#include "http/rate_limit.h"
#include "http/deadline.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/target.h"

/* What an event of the server's epoll is about; the first member of it. */
enum source { SOURCE_MHD, SOURCE_LISTENER, SOURCE_CONNECTION };

struct listener {
    enum source source;
    struct address address;
    int fd; /* -1: closed */
};

enum phase {
    PHASE_HEAD,   /* waiting for a request: the client's turn */
    PHASE_BODY,   /* its head is here, its body is not: the client's turn */
    PHASE_HELD,   /* suspended until http_server_release: ours */
    PHASE_ANSWER, /* being sent: the client's turn to read */
    PHASE_STREAM, /* the same, and its end is not in sight */
};

struct connection {
    enum source source;
    enum phase phase;
    struct deadline deadline;
    struct http_server *server;
    struct MHD_Connection *mhd;
    struct connection *next, *previous;
    struct http_request *request; /* NULL between requests */
    int fd;
    bool over_unix, suspended, half_closed;
    bool closing; /* cut off: whatever MHD asks next, the answer is to close */
    struct address_host peer, local;
};

/* The headers that are looked at here. */
struct head {
    const char *host, *origin, *site, *authorization, *type, *encoding, *length, *transfer, *expect;
    bool malformed; /* one of them is there twice, or has a NUL in it */
};

enum { HEADERS_MAX = 4 };
struct http_request {
    struct connection *connection;
    char *raw;    /* the path as it came; behind it lies the text that target points into */
    char *parsed; /* that text */
    bool begun, handled;
    bool refused;         /* answered before its handler was called */
    bool bodiless;        /* HEAD */
    char method_text[16]; /* as it came, for the access log: letters only, cut */
    int64_t begin_us;     /* of clock_monotonic_us, when the head was complete */
    enum http_method method;
    struct head head;
    struct target target;
    const struct http_route *route; /* NULL: none matches, or refused before it was looked up */
    struct http_identity identity;

    char *body;
    size_t length, size; /* bytes there, and room for */
    uint64_t discarded;  /* bytes of a body that nobody will see */
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
};

struct http_stream {
    struct connection *connection; /* NULL: gone */
    struct http_server *server;
    const struct http_stream_owner *owner; /* NULL: told, or ended by itself */
    void *self;
    char *data; /* used bytes from start, of size */
    size_t start, used, size;
    uint64_t pushed, taken, goal; /* in all; the deadline holds for taken reaching goal */
    bool ended, dropped, notify_drained, notify_gone;
    bool needs_deadline; /* the deadline is to be set */
    struct http_stream *next_gone;
};

struct http_server {
    enum source source;
    struct http_options options; /* with its limits filled in */
    char **hosts;
    int epoll;
    struct listener *listeners;
    struct MHD_Daemon *mhd;
    struct connection *connections;
    struct deadlines deadlines;
    struct rate_limit *request_limit, *refusal_limit;
    int64_t now_us;
    int64_t accept_us; /* when to accept again; INT64_MAX: is accepting */
    bool stopping, freeing;
    bool needs_deadline; /* some stream's deadline is to be set */
    bool notify;         /* some stream's owner is to be told something */
    bool resumed;        /* a connection was resumed; MHD's descriptor says nothing of it */
    int half_closed;     /* connections that are */
    size_t bodies_bytes;
    struct http_request *held, **held_end;
    int held_count;
    struct http_stream *gone;
    struct http_counts counts;
};

/* ---- accept.c: letting clients in ----------------------------------------------------------- */

/* Connections beyond the limit that may be closing while new ones are accepted. */
enum { CLOSING_MAX = 128 };

void accept_some (struct http_server *server, const struct listener *listener);
/* Look at all listeners (again). */
void accept_resume (struct http_server *server);
void listener_watch (struct http_server *server, const struct listener *listener, bool on);

/* ---- connection.c: the clients ------------------------------------------------------------- */

void connection_notify (void *server, struct MHD_Connection *mhd, void **socket_context,
                        enum MHD_ConnectionNotificationCode code);
void connection_phase (struct connection *connection, enum phase phase);
void connection_suspend (struct connection *connection);
void connection_resume (struct connection *connection);
/* Close it, whatever it is doing: at once or, where MHD has to, in the next step. */
void connection_cut (struct connection *connection);
/* The client will send nothing more; it may still be reading. */
void connection_half_closed (struct connection *connection);
/* When MHD has done all it can: cut off those from whom nothing can come any more, and streams
 * whose clients have half closed, which is how they go away. */
void connections_sweep (struct http_server *server);

/* ---- request.c: from the head to the handler ----------------------------------------------- */

void *request_new (void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_handle (void *server, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_size, void **context);
void request_completed (void *server, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code);

/* ---- refuse.c: the checks before a handler -------------------------------------------------- */

/* Everything that the head alone can tell: sets route and identity, or answers. */
void request_check_head (struct http_request *request, const char *method);

/* ---- answer.c -------------------------------------------------------------------------------- */

/* Hand the answer to MHD; MHD_NO: close. */
enum MHD_Result answer_send (struct http_request *request);
/* Replace an answer that was given but not sent. */
void answer_clear (struct http_request *request);

/* ---- access.c: the access log ---------------------------------------------------------------- */

/* An answer is on its way: pass its description to options.access. */
void access_report (const struct http_request *request);

/* ---- stream.c -------------------------------------------------------------------------------- */

struct MHD_Response *stream_response (struct http_stream *stream);
/* Its connection is finished: free it, or keep it until its owner has been told. */
void stream_leave (struct http_stream *stream);
void stream_free (struct http_stream *stream);
/* Set the deadlines of streams that were pushed to since the last step. */
void streams_set_deadlines (struct http_server *server);
/* Call the owners that are to be told something. */
void streams_notify (struct http_server *server);

#endif
