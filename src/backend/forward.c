/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for one kind of request, on loopback: small enough to see that it never waits.
 *
 *     IDLE --due--> SENDING --all sent--> READING --end, or deadline--> judged: IDLE
 *
 * One connection per message: there is one message per second at most.  Of the answer only the
 * status line is looked at.  2xx: delivered; 4xx: refused, and a newer message may do better; all
 * else, and no answer at all: again later, with pauses that double, unless a newer message has
 * taken its place.
 */
#define _GNU_SOURCE
#include "backend/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "wire/run.h"

#define SECOND_US INT64_C (1000000)
#define INTERVAL_US SECOND_US
#define DEADLINE_US (5 * SECOND_US)
#define PAUSE_LIMIT_US (30 * SECOND_US)
/* Longer answers are cut off: nobody reads them. */
#define ANSWER_LIMIT ((size_t)64 << 10)
/* The request line has a job's name of 63 bytes, the head a token of 1024. */
#define HEAD_SIZE 2048

enum state { IDLE, SENDING, READING };

struct forward {
    struct sockaddr_storage address;
    socklen_t address_size;
    char host[128], job[64];
    char *token;
    int epoll;
    uint64_t tag;

    char message[RUN_MESSAGE_LIMIT];
    size_t message_length; /* 0: none waits */

    enum state state;
    int socket;
    char request[HEAD_SIZE + RUN_MESSAGE_LIMIT];
    size_t body, length, sent; /* where the message starts; all of it; gone so far */
    char answer[16];           /* its start: "HTTP/1.1 200 " */
    size_t answered;
    int64_t deadline_us, due_us, pause_us;
};

/* ---- Where ------------------------------------------------------------------------------- */

static int parse_unix (struct forward *forward, const char *path, struct pollux_error *err)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&forward->address;
    if (strlen (path) >= sizeof (address->sun_path))
        return fail (err, -EINVAL, "url: the socket's path is too long");
    address->sun_family = AF_UNIX;
    strcpy (address->sun_path, path);
    forward->address_size = sizeof (*address);
    strcpy (forward->host, "localhost");
    return 0;
}

static bool set_address (struct forward *forward, const char *host, in_port_t port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&forward->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&forward->address;
    if (strcmp (host, "[::1]") == 0) {
        *six = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons (port), .sin6_addr = in6addr_loopback};
        forward->address_size = sizeof (*six);
        return true;
    }
    *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons (port)};
    forward->address_size = sizeof (*four);
    if (strcmp (host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton (AF_INET, host, &four->sin_addr) == 1 &&
           ntohl (four->sin_addr.s_addr) >> 24 == 127;
}

static int parse_url (struct forward *forward, const char *url, struct pollux_error *err)
{
    int64_t port;
    char host[sizeof (forward->host)];
    if (strncmp (url, "unix:/", 6) == 0)
        return parse_unix (forward, url + 5, err);
    bool legal = strncmp (url, "http://", 7) == 0 && strlen (url + 7) < sizeof (host);
    if (legal) {
        strcpy (host, url + 7);
        host[strcspn (host, "/")] = '\0';
        strcpy (forward->host, host);
        char *colon = strrchr (host, ':');
        legal = colon && number_int64 (colon + 1, &port) == 0 && port > 0 && port < 65536;
        if (legal) {
            *colon = '\0';
            legal = set_address (forward, host, (in_port_t)port);
        }
    }
    if (!legal)
        return fail (err, -EINVAL,
                     "url: expected http://127.0.0.1:PORT, http://[::1]:PORT or unix:/PATH");
    return 0;
}

int forward_new (const char *url, const char *token, const char *job, int epoll, uint64_t tag,
                 struct forward **ret, struct pollux_error *err)
{
    struct forward *forward = calloc (1, sizeof (*forward));
    if (!forward)
        return fail (err, -ENOMEM, "not enough memory");
    forward->epoll = epoll;
    forward->tag = tag;
    forward->socket = -1;
    forward->pause_us = INTERVAL_US;
    snprintf (forward->job, sizeof (forward->job), "%s", job);
    int code = parse_url (forward, url, err);
    if (code == 0 && token && !(forward->token = strdup (token)))
        code = fail (err, -ENOMEM, "not enough memory");
    if (code < 0)
        forward_free (forward);
    else
        *ret = forward;
    return code;
}

void forward_free (struct forward *forward)
{
    if (!forward)
        return;
    if (forward->socket >= 0)
        close (forward->socket);
    free (forward->token);
    free (forward);
}

/* ---- One request -------------------------------------------------------------------------- */

void forward_offer (struct forward *forward, const char *text, size_t length)
{
    if (length == 0 || length > RUN_MESSAGE_LIMIT)
        return;
    memcpy (forward->message, text, length);
    forward->message_length = length;
}

static void hang_up (struct forward *forward)
{
    if (forward->socket >= 0)
        close (forward->socket); /* and it leaves epoll */
    forward->socket = -1;
    forward->state = IDLE;
}

/* Not delivered: keep it, unless there is a newer one, and wait longer. */
static void give_up (struct forward *forward, int64_t now_us)
{
    size_t length = forward->length - forward->body;
    if (forward->message_length == 0) {
        memcpy (forward->message, forward->request + forward->body, length);
        forward->message_length = length;
    }
    hang_up (forward);
    forward->due_us = now_us + forward->pause_us;
    forward->pause_us *= 2;
    if (forward->pause_us > PAUSE_LIMIT_US)
        forward->pause_us = PAUSE_LIMIT_US;
}

/* The status of the answer; 0: none, or no HTTP. */
static int answer_status (const struct forward *forward)
{
    int status = 0;
    char text[sizeof (forward->answer) + 1] = "";
    memcpy (text, forward->answer,
            forward->answered < sizeof (forward->answer) ? forward->answered
                                                         : sizeof (forward->answer));
    return sscanf (text, "HTTP/1.%*1[01] %3d", &status) == 1 && status >= 100 ? status : 0;
}

static int judge (struct forward *forward, int64_t now_us)
{
    int status = answer_status (forward);
    bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
    if (!refused && (status < 200 || status > 299)) {
        give_up (forward, now_us);
        return 0;
    }
    hang_up (forward);
    forward->pause_us = INTERVAL_US;
    return refused ? status : 0;
}

static void compose (struct forward *forward)
{
    int head =
        snprintf (forward->request, HEAD_SIZE,
                  "POST /v1/jobs/%s/hints HTTP/1.1\r\n"
                  "Host: %s\r\n"
                  "%s%s%s"
                  "Content-Type: application/json\r\n"
                  "Content-Length: %zu\r\n"
                  "Connection: close\r\n"
                  "\r\n",
                  forward->job, forward->host, forward->token ? "Authorization: Bearer " : "",
                  forward->token ? forward->token : "", forward->token ? "\r\n" : "",
                  forward->message_length);
    forward->body = (size_t)head;
    memcpy (forward->request + forward->body, forward->message, forward->message_length);
    forward->length = forward->body + forward->message_length;
    forward->message_length = forward->sent = forward->answered = 0;
}

static void dial (struct forward *forward, int64_t now_us)
{
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = forward->tag};
    compose (forward);
    forward->state = SENDING;
    forward->due_us = now_us + INTERVAL_US;
    forward->deadline_us = now_us + DEADLINE_US;
    forward->socket =
        socket (forward->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (forward->socket < 0 ||
        (connect (forward->socket, (struct sockaddr *)&forward->address, forward->address_size) <
             0 &&
         errno != EINPROGRESS) ||
        epoll_ctl (forward->epoll, EPOLL_CTL_ADD, forward->socket, &event) < 0)
        give_up (forward, now_us);
}

static void send_more (struct forward *forward, int64_t now_us)
{
    while (forward->sent < forward->length) {
        ssize_t sent = send (forward->socket, forward->request + forward->sent,
                             forward->length - forward->sent, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN))
            return;
        if (sent < 0) {
            give_up (forward, now_us);
            return;
        }
        forward->sent += (size_t)sent;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = forward->tag};
    if (epoll_ctl (forward->epoll, EPOLL_CTL_MOD, forward->socket, &event) < 0)
        give_up (forward, now_us);
    else
        forward->state = READING;
}

/* The first bytes of an answer say all that matters. */
static void keep_start (struct forward *forward, const char *bytes, size_t length)
{
    size_t size = sizeof (forward->answer), at = forward->answered;
    if (at < size)
        memcpy (forward->answer + at, bytes, length < size - at ? length : size - at);
    forward->answered += length;
}

static int read_more (struct forward *forward, int64_t now_us)
{
    char bytes[4096];
    ssize_t got;
    while ((got = recv (forward->socket, bytes, sizeof (bytes), 0)) > 0) {
        keep_start (forward, bytes, (size_t)got);
        if (forward->answered > ANSWER_LIMIT)
            break;
    }
    if (got < 0 && errno == EAGAIN)
        return 0;
    return judge (forward, now_us);
}

/* ---- The steps ---------------------------------------------------------------------------- */

int forward_step (struct forward *forward, int64_t now_us)
{
    int refused = 0;
    if (forward->state != IDLE && now_us >= forward->deadline_us)
        refused = judge (forward, now_us);
    if (forward->state == IDLE && forward->message_length > 0 && now_us >= forward->due_us)
        dial (forward, now_us);
    if (forward->state == SENDING)
        send_more (forward, now_us);
    if (forward->state == READING)
        refused = read_more (forward, now_us);
    return refused;
}

int64_t forward_due_us (const struct forward *forward)
{
    if (forward->state != IDLE)
        return forward->deadline_us;
    return forward->message_length > 0 ? forward->due_us : INT64_MAX;
}

bool forward_flush (struct forward *forward)
{
    bool answers = forward->pause_us == INTERVAL_US;
    if (answers && forward->state == IDLE)
        forward->due_us = 0;
    return answers && (forward->state != IDLE || forward->message_length > 0);
}
