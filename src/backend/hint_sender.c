/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A non-blocking HTTP client for one kind of request, on this machine.
 *
 *     IDLE --due--> SENDING --all sent--> READING --end, or deadline--> evaluate: IDLE
 *
 * One connection per message, because there is at most one message per second.  Only the status
 * line of the answer matters.  2xx: delivered; 4xx: refused, not sent again; anything else, or no
 * answer: sent again after a pause that doubles, unless a newer message replaces it.
 */
#define _GNU_SOURCE
#include "backend/hint_sender.h"

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
/* Longer answers are not read to their end. */
#define ANSWER_LIMIT ((size_t)64 << 10)
/* The request line has a job's name of 63 bytes, the head a token of 1024. */
#define HEAD_SIZE 2048

enum { NEWS_LIMIT = 4 }; /* a run has two: running and ended */

enum state { IDLE, SENDING, READING };

struct hint_sender {
    struct sockaddr_storage address;
    socklen_t address_size;
    char host[128], job[64];
    char *token;
    int epoll;
    uint64_t tag;

    char message[RUN_MESSAGE_LIMIT];
    size_t message_length; /* 0: no message waits */
    char *news[NEWS_LIMIT];
    int news_count;
    bool sends_news; /* the request holds news[0] */

    enum state state;
    int socket;
    char request[HEAD_SIZE + RUN_MESSAGE_LIMIT];
    size_t body, length, sent; /* offset of the message; total; sent so far */
    char answer[16];           /* its start: "HTTP/1.1 200 " */
    size_t answered;
    int64_t deadline_us, due_us, pause_us;
};

/* ---- The address ------------------------------------------------------------------------------- */

static int parse_unix (struct hint_sender *sender, const char *path, struct pollux_error *err)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&sender->address;
    if (strlen (path) >= sizeof (address->sun_path))
        return fail (err, -EINVAL, "url: the socket's path is too long");
    address->sun_family = AF_UNIX;
    strcpy (address->sun_path, path);
    sender->address_size = sizeof (*address);
    strcpy (sender->host, "localhost");
    return 0;
}

static bool set_address (struct hint_sender *sender, const char *host, in_port_t port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&sender->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&sender->address;
    if (strcmp (host, "[::1]") == 0) {
        *six = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons (port), .sin6_addr = in6addr_loopback};
        sender->address_size = sizeof (*six);
        return true;
    }
    *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons (port)};
    sender->address_size = sizeof (*four);
    if (strcmp (host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton (AF_INET, host, &four->sin_addr) == 1 &&
           ntohl (four->sin_addr.s_addr) >> 24 == 127;
}

static int parse_url (struct hint_sender *sender, const char *url, struct pollux_error *err)
{
    int64_t port;
    char host[sizeof (sender->host)];
    if (strncmp (url, "unix:/", 6) == 0)
        return parse_unix (sender, url + 5, err);
    bool legal = strncmp (url, "http://", 7) == 0 && strlen (url + 7) < sizeof (host);
    if (legal) {
        strcpy (host, url + 7);
        host[strcspn (host, "/")] = '\0';
        strcpy (sender->host, host);
        char *colon = strrchr (host, ':');
        legal = colon && number_int64 (colon + 1, &port) == 0 && port > 0 && port < 65536;
        if (legal) {
            *colon = '\0';
            legal = set_address (sender, host, (in_port_t)port);
        }
    }
    if (!legal)
        return fail (err, -EINVAL,
                     "url: expected http://127.0.0.1:PORT, http://[::1]:PORT or unix:/PATH");
    return 0;
}

int hint_sender_new (const char *url, const char *token, const char *job, int epoll, uint64_t tag,
                     struct hint_sender **ret, struct pollux_error *err)
{
    struct hint_sender *sender = calloc (1, sizeof (*sender));
    if (!sender)
        return fail (err, -ENOMEM, "not enough memory");
    sender->epoll = epoll;
    sender->tag = tag;
    sender->socket = -1;
    sender->pause_us = INTERVAL_US;
    snprintf (sender->job, sizeof (sender->job), "%s", job);
    int code = parse_url (sender, url, err);
    if (code == 0 && token && !(sender->token = strdup (token)))
        code = fail (err, -ENOMEM, "not enough memory");
    if (code < 0)
        hint_sender_free (sender);
    else
        *ret = sender;
    return code;
}

void hint_sender_free (struct hint_sender *sender)
{
    if (!sender)
        return;
    if (sender->socket >= 0)
        close (sender->socket);
    for (int i = 0; i < sender->news_count; i++)
        free (sender->news[i]);
    free (sender->token);
    free (sender);
}

/* ---- One request -------------------------------------------------------------------------- */

void hint_sender_offer (struct hint_sender *sender, const char *text, size_t length)
{
    if (length == 0 || length > RUN_MESSAGE_LIMIT)
        return;
    memcpy (sender->message, text, length);
    sender->message_length = length;
}

int hint_sender_news (struct hint_sender *sender, const char *text, size_t length)
{
    if (length == 0 || length > RUN_MESSAGE_LIMIT)
        return -EFBIG;
    if (sender->news_count == NEWS_LIMIT)
        return -ENOBUFS;
    char *copy = strndup (text, length);
    if (!copy)
        return -ENOMEM;
    sender->news[sender->news_count++] = copy;
    if (sender->state == IDLE && sender->pause_us == INTERVAL_US)
        sender->due_us = 0; /* at once, unless the daemon does not answer */
    return 0;
}

static void drop_news (struct hint_sender *sender)
{
    free (sender->news[0]);
    sender->news_count--;
    memmove (sender->news, sender->news + 1, (size_t)sender->news_count * sizeof (char *));
    if (sender->news_count > 0)
        sender->due_us = 0;
}

static void disconnect (struct hint_sender *sender)
{
    if (sender->socket >= 0)
        close (sender->socket); /* which removes it from epoll */
    sender->socket = -1;
    sender->state = IDLE;
}

/* Not delivered: keep the message, unless there is a newer one, and try again later. */
static void retry_later (struct hint_sender *sender, int64_t now_us)
{
    size_t length = sender->length - sender->body;
    if (sender->message_length == 0 && !sender->sends_news) {
        memcpy (sender->message, sender->request + sender->body, length);
        sender->message_length = length;
    }
    disconnect (sender);
    sender->due_us = now_us + sender->pause_us;
    sender->pause_us *= 2;
    if (sender->pause_us > PAUSE_LIMIT_US)
        sender->pause_us = PAUSE_LIMIT_US;
}

/* The HTTP status of the answer; 0: there is none. */
static int answer_status (const struct hint_sender *sender)
{
    int status = 0;
    char text[sizeof (sender->answer) + 1] = "";
    memcpy (text, sender->answer,
            sender->answered < sizeof (sender->answer) ? sender->answered
                                                       : sizeof (sender->answer));
    return sscanf (text, "HTTP/1.%*1[01] %3d", &status) == 1 && status >= 100 ? status : 0;
}

static int evaluate (struct hint_sender *sender, int64_t now_us)
{
    int status = answer_status (sender);
    bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
    if (!refused && (status < 200 || status > 299)) {
        retry_later (sender, now_us);
        return 0;
    }
    disconnect (sender);
    if (sender->sends_news)
        drop_news (sender);
    sender->pause_us = INTERVAL_US;
    return refused ? status : 0;
}

static void compose (struct hint_sender *sender)
{
    sender->sends_news = sender->news_count > 0;
    const char *body = sender->sends_news ? sender->news[0] : sender->message;
    size_t length = sender->sends_news ? strlen (body) : sender->message_length;
    int head = snprintf (sender->request, HEAD_SIZE,
                         "POST /v1/jobs/%s/%s HTTP/1.1\r\n"
                         "Host: %s\r\n"
                         "%s%s%s"
                         "Content-Type: application/json\r\n"
                         "Content-Length: %zu\r\n"
                         "Connection: close\r\n"
                         "\r\n",
                         sender->job, sender->sends_news ? "runs" : "hints", sender->host,
                         sender->token ? "Authorization: Bearer " : "",
                         sender->token ? sender->token : "", sender->token ? "\r\n" : "", length);
    sender->body = (size_t)head;
    memcpy (sender->request + sender->body, body, length);
    sender->length = sender->body + length;
    sender->sent = sender->answered = 0;
    if (!sender->sends_news)
        sender->message_length = 0;
}

static void connect_to_daemon (struct hint_sender *sender, int64_t now_us)
{
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = sender->tag};
    compose (sender);
    sender->state = SENDING;
    sender->due_us = now_us + INTERVAL_US;
    sender->deadline_us = now_us + DEADLINE_US;
    sender->socket =
        socket (sender->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sender->socket < 0 ||
        (connect (sender->socket, (struct sockaddr *)&sender->address, sender->address_size) < 0 &&
         errno != EINPROGRESS) ||
        epoll_ctl (sender->epoll, EPOLL_CTL_ADD, sender->socket, &event) < 0)
        retry_later (sender, now_us);
}

static void send_more (struct hint_sender *sender, int64_t now_us)
{
    while (sender->sent < sender->length) {
        ssize_t sent = send (sender->socket, sender->request + sender->sent,
                             sender->length - sender->sent, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN))
            return;
        if (sent < 0) {
            retry_later (sender, now_us);
            return;
        }
        sender->sent += (size_t)sent;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = sender->tag};
    if (epoll_ctl (sender->epoll, EPOLL_CTL_MOD, sender->socket, &event) < 0)
        retry_later (sender, now_us);
    else
        sender->state = READING;
}

/* Keep the first bytes of the answer: the status line. */
static void keep_start (struct hint_sender *sender, const char *bytes, size_t length)
{
    size_t size = sizeof (sender->answer), at = sender->answered;
    if (at < size)
        memcpy (sender->answer + at, bytes, length < size - at ? length : size - at);
    sender->answered += length;
}

static int read_more (struct hint_sender *sender, int64_t now_us)
{
    char bytes[4096];
    ssize_t got;
    while ((got = recv (sender->socket, bytes, sizeof (bytes), 0)) > 0) {
        keep_start (sender, bytes, (size_t)got);
        if (sender->answered > ANSWER_LIMIT)
            break;
    }
    if (got < 0 && errno == EAGAIN)
        return 0;
    return evaluate (sender, now_us);
}

/* ---- The steps ---------------------------------------------------------------------------- */

static bool has_message (const struct hint_sender *sender)
{
    return sender->news_count > 0 || sender->message_length > 0;
}

int hint_sender_step (struct hint_sender *sender, int64_t now_us)
{
    int refused = 0;
    if (sender->state != IDLE && now_us >= sender->deadline_us)
        refused = evaluate (sender, now_us);
    if (sender->state == IDLE && has_message (sender) && now_us >= sender->due_us)
        connect_to_daemon (sender, now_us);
    if (sender->state == SENDING)
        send_more (sender, now_us);
    if (sender->state == READING)
        refused = read_more (sender, now_us);
    return refused;
}

int64_t hint_sender_due_us (const struct hint_sender *sender)
{
    if (sender->state != IDLE)
        return sender->deadline_us;
    return has_message (sender) ? sender->due_us : INT64_MAX;
}

bool hint_sender_flush (struct hint_sender *sender)
{
    bool reachable = sender->pause_us == INTERVAL_US;
    if (reachable && sender->state == IDLE)
        sender->due_us = 0;
    return reachable && (sender->state != IDLE || has_message (sender));
}
