/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a supervisor, by libcurl's multi interface: one request at a time.
 *
 *     supervisor's epoll --> sender's epoll --> curl's sockets: the connection, or the resolver's pipe
 *
 * 2xx: delivered; 4xx: refused, not sent again; anything else, or no answer: sent again after a pause
 * that doubles.  News keep their order; hints are sent only when no news wait, and newer hints replace
 * older ones.
 *
 * Nothing here waits.  Names are resolved by a thread of curl's, and CURLOPT_QUICK_EXIT lets a request end
 * without that thread.  On this machine every message has its own connection, so that an idle supervisor
 * keeps none; with TLS the connection is kept, because a new one takes a handshake.
 */
#include "backend/hint_sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backend/curl_handles.h"
#include "base/error.h"
#include "wire/run.h"

#define SECOND_US INT64_C (1000000)
#define INTERVAL_US SECOND_US
#define DEADLINE_MS 5000L
#define PAUSE_LIMIT_US (30 * SECOND_US)
#define SIGN_PAUSE_US (SECOND_US / 50)
/* Longer answers are not read to their end. */
#define ANSWER_LIMIT ((size_t)64 << 10)

enum {
    NEWS_MAX = 16,         /* a run has two: it started, it ended */
    URL_SIZE = 256,        /* an address of at most 107 bytes, a job's name of 63 */
    CREDENTIAL_SIZE = 8192 /* of a signature; munge makes less than 1 KiB of a short payload */
};

enum kind { NONE, NEWS, HINTS };

struct message {
    struct message *next;
    size_t length;
    char text[];
};

struct hint_sender {
    char base[URL_SIZE], job[64];
    int (*sign) (void *self, const char *method, const char *target, const void *body,
                 size_t length, char *ret, size_t size);
    void *self;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers; /* of the running request */
    int events;                 /* epoll of curl's sockets */
    int64_t now_us;             /* of the current step */
    int64_t timer_us;           /* when curl wants to be called; INT64_MAX: not by time */

    struct message *news; /* in order */
    int news_count;
    char hints[RUN_MESSAGE_LIMIT];
    size_t hints_length; /* 0: no hints wait */

    enum kind sending;
    char body[RUN_MESSAGE_LIMIT]; /* of the running request */
    size_t body_length, answered;
    int64_t hints_us, retry_us; /* no hints before, no request before */
    int64_t pause_us;           /* after the next failure */
    bool replaced;              /* the daemon has answered news with 409 or 410 */
};

/* ---- The beginning and the end ---------------------------------------------------------------- */

/* Called by curl: watch a socket, or no longer. */
static int watch_socket (CURL *easy, curl_socket_t socket, int what, void *self, void *known)
{
    struct hint_sender *sender = self;
    struct epoll_event event = {.data.fd = socket};
    (void)easy;
    (void)known;
    if (what & CURL_POLL_IN && what != CURL_POLL_REMOVE)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE)
        event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE)
        epoll_ctl (sender->events, EPOLL_CTL_DEL, socket, &event);
    else if (epoll_ctl (sender->events, EPOLL_CTL_MOD, socket, &event) < 0)
        epoll_ctl (sender->events, EPOLL_CTL_ADD, socket, &event);
    return 0;
}

/* Only the status of an answer matters. */
static size_t drop_answer (char *bytes, size_t size, size_t count, void *self)
{
    struct hint_sender *sender = self;
    (void)bytes;
    sender->answered += size * count;
    return sender->answered <= ANSWER_LIMIT ? size * count : 0;
}

/* Check the address and set the URL's beginning. */
static int set_address (struct hint_sender *sender, const char *url, struct pollux_error *err)
{
    bool tls = strncmp (url, "https://", 8) == 0;
    CURLcode code = CURLE_OK;
    if (strncmp (url, "unix:/", 6) == 0) {
        code = curl_easy_setopt (sender->easy, CURLOPT_UNIX_SOCKET_PATH, url + 5);
        url = "http://localhost";
    } else if ((!tls && strncmp (url, "http://", 7) != 0) || strlen (url) > URL_SIZE / 2) {
        return fail (err, -EINVAL,
                     "url: expected http://HOST:PORT, https://HOST:PORT or unix:/PATH");
    }
    size_t length = strlen (url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    snprintf (sender->base, sizeof (sender->base), "%.*s", (int)length, url);
    curl_easy_setopt (sender->easy, CURLOPT_FORBID_REUSE, tls ? 0L : 1L);
    return code == CURLE_OK ? 0 : fail (err, -ENOMEM, "not enough memory");
}

static int set_up (struct hint_sender *sender, const struct hint_sender_options *options,
                   struct pollux_error *err)
{
    CURL *easy = sender->easy;
    curl_multi_setopt (sender->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt (sender->multi, CURLMOPT_SOCKETDATA, sender);
    curl_easy_setopt (easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt (easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS,
                      options->deadline_ms > 0 ? (long)options->deadline_ms : DEADLINE_MS);
    curl_easy_setopt (easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* the file may be replaced */
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, drop_answer);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, sender);
    int code = set_address (sender, options->url, err);
    if (code < 0)
        return code;
    return curl_handles_secure (easy, options->ca, options->sign ? NULL : options->token, err);
}

int hint_sender_new (const struct hint_sender_options *options, struct hint_sender **ret,
                     struct pollux_error *err)
{
    struct hint_sender *sender = calloc (1, sizeof (*sender));
    if (!sender)
        return fail (err, -ENOMEM, "not enough memory");
    sender->sign = options->sign;
    sender->self = options->self;
    sender->timer_us = INT64_MAX;
    sender->pause_us = INTERVAL_US;
    sender->events = epoll_create1 (EPOLL_CLOEXEC);
    snprintf (sender->job, sizeof (sender->job), "%s", options->job);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = options->tag};
    int code = 0;
    if (sender->events < 0 || epoll_ctl (options->epoll, EPOLL_CTL_ADD, sender->events, &event) < 0)
        code = fail (err, -errno, "epoll: %s", strerror (errno));
    if (code == 0)
        code = curl_handles_new (&sender->easy, &sender->multi, err);
    if (code == 0)
        code = set_up (sender, options, err);
    if (code < 0)
        hint_sender_free (sender);
    else
        *ret = sender;
    return code;
}

static void drop_news (struct hint_sender *sender)
{
    struct message *first = sender->news;
    sender->news = first->next;
    sender->news_count--;
    free (first);
}

static void end_request (struct hint_sender *sender)
{
    if (sender->sending != NONE)
        curl_multi_remove_handle (sender->multi, sender->easy);
    sender->sending = NONE;
    curl_slist_free_all (sender->headers);
    sender->headers = NULL;
}

void hint_sender_free (struct hint_sender *sender)
{
    if (!sender)
        return;
    end_request (sender);
    if (sender->easy)
        curl_easy_cleanup (sender->easy);
    if (sender->multi)
        curl_multi_cleanup (sender->multi);
    while (sender->news)
        drop_news (sender);
    if (sender->events >= 0)
        close (sender->events); /* which removes it from the other epoll */
    free (sender);
}

/* ---- Messages --------------------------------------------------------------------------------- */

void hint_sender_offer (struct hint_sender *sender, const char *text, size_t length)
{
    if (length == 0 || length > RUN_MESSAGE_LIMIT)
        return;
    memcpy (sender->hints, text, length);
    sender->hints_length = length;
}

int hint_sender_add_news (struct hint_sender *sender, const char *text, size_t length)
{
    if (length == 0 || length > RUN_MESSAGE_LIMIT)
        return -EFBIG;
    if (sender->news_count == NEWS_MAX)
        return -ENOBUFS;
    struct message *message = malloc (sizeof (*message) + length), **end = &sender->news;
    if (!message)
        return -ENOMEM;
    message->next = NULL;
    message->length = length;
    memcpy (message->text, text, length);
    while (*end)
        end = &(*end)->next;
    *end = message;
    sender->news_count++;
    return 0;
}

/* ---- One request ------------------------------------------------------------------------------ */

/* Not delivered: keep the message, unless there are newer hints, and try again later. */
static void retry_later (struct hint_sender *sender)
{
    if (sender->sending == HINTS && sender->hints_length == 0)
        hint_sender_offer (sender, sender->body, sender->body_length);
    end_request (sender);
    sender->retry_us = sender->now_us + sender->pause_us;
    sender->pause_us *= 2;
    if (sender->pause_us > PAUSE_LIMIT_US)
        sender->pause_us = PAUSE_LIMIT_US;
}

/* The request has ended.  Returns the status if the message was refused. */
static int evaluate (struct hint_sender *sender)
{
    long status = 0;
    curl_easy_getinfo (sender->easy, CURLINFO_RESPONSE_CODE, &status);
    bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
    if (!refused && (status < 200 || status > 299)) {
        retry_later (sender);
        return 0;
    }
    if (sender->sending == NEWS) {
        sender->replaced |= status == 409 || status == 410;
        drop_news (sender);
    }
    end_request (sender);
    sender->pause_us = INTERVAL_US;
    sender->retry_us = 0;
    return refused ? (int)status : 0;
}

static void add_header (struct hint_sender *sender, const char *text, bool *ok)
{
    struct curl_slist *list = curl_slist_append (sender->headers, text);
    *ok = *ok && list;
    if (list)
        sender->headers = list;
}

/* The headers of the request for a target; -ENOMEM, or a code of sign. */
static int make_headers (struct hint_sender *sender, const char *target)
{
    static const char name[] = "Authorization: ";
    char line[sizeof (name) + CREDENTIAL_SIZE] = "Authorization: ";
    bool ok = true;
    int code = 0;
    add_header (sender, "Content-Type: application/json", &ok);
    add_header (sender, "Expect:", &ok);
    add_header (sender, "Accept:", &ok);
    if (sender->sign) {
        code = sender->sign (sender->self, "POST", target, sender->body, sender->body_length,
                             line + sizeof (name) - 1, CREDENTIAL_SIZE);
        add_header (sender, line, &ok);
    }
    return code < 0 ? code : ok ? 0 : -ENOMEM;
}

/* Start to send the message in body. */
static void start (struct hint_sender *sender, enum kind kind)
{
    char url[2 * URL_SIZE], *target;
    target = url + snprintf (url, sizeof (url), "%s", sender->base);
    snprintf (target, sizeof (url) - strlen (sender->base), "/v1/jobs/%s/%s", sender->job,
              kind == NEWS ? "runs" : "hints");
    sender->answered = 0;
    if (kind == HINTS)
        sender->hints_us = sender->now_us + INTERVAL_US;
    int code = make_headers (sender, target);
    curl_easy_setopt (sender->easy, CURLOPT_HTTPHEADER, sender->headers);
    curl_easy_setopt (sender->easy, CURLOPT_POST, 1L);
    curl_easy_setopt (sender->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)sender->body_length);
    curl_easy_setopt (sender->easy, CURLOPT_POSTFIELDS, sender->body);
    if (code == 0 && curl_easy_setopt (sender->easy, CURLOPT_URL, url) == CURLE_OK &&
        curl_multi_add_handle (sender->multi, sender->easy) == CURLM_OK) {
        sender->sending = kind;
        return;
    }
    if (kind == HINTS && sender->hints_length == 0)
        hint_sender_offer (sender, sender->body, sender->body_length);
    if (code != -EINPROGRESS) {
        retry_later (sender);
        return;
    }
    end_request (sender);
    sender->hints_us = 0;
    sender->retry_us = sender->now_us + SIGN_PAUSE_US;
}

/* If a message is due, start to send it. */
static void start_next (struct hint_sender *sender)
{
    if (sender->now_us < sender->retry_us)
        return;
    if (sender->news) {
        sender->body_length = sender->news->length;
        memcpy (sender->body, sender->news->text, sender->body_length);
        start (sender, NEWS);
    } else if (sender->hints_length > 0 && sender->now_us >= sender->hints_us) {
        sender->body_length = sender->hints_length;
        memcpy (sender->body, sender->hints, sender->body_length);
        sender->hints_length = 0;
        start (sender, HINTS);
    }
}

/* ---- The steps -------------------------------------------------------------------------------- */

/* Let curl work on all sockets that are ready, and on its timer if that is due. */
static void perform (struct hint_sender *sender)
{
    struct epoll_event events[8];
    int running, count = epoll_wait (sender->events, events, 8, 0);
    for (int i = 0; i < count; i++) {
        int ready = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                    (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action (sender->multi, events[i].data.fd, ready, &running);
    }
    if (sender->now_us >= sender->timer_us)
        curl_multi_socket_action (sender->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* Ask curl when it wants to be called.  It is asked after each step, because curl's own clock may be a little
 * behind ours: a timer that was due too early is then set again. */
static void set_timer (struct hint_sender *sender)
{
    long ms = -1;
    if (sender->sending != NONE)
        curl_multi_timeout (sender->multi, &ms);
    sender->timer_us = ms < 0 ? INT64_MAX : sender->now_us + ms * 1000;
}

/* Has the request ended? */
static bool has_ended (struct hint_sender *sender)
{
    bool ended = false;
    int left;
    for (const CURLMsg *message; (message = curl_multi_info_read (sender->multi, &left));)
        ended |= message->msg == CURLMSG_DONE;
    return ended;
}

int hint_sender_step (struct hint_sender *sender, int64_t now_us)
{
    int refused = 0;
    sender->now_us = now_us;
    perform (sender);
    if (has_ended (sender))
        refused = evaluate (sender);
    if (sender->sending == NONE)
        start_next (sender);
    set_timer (sender);
    return refused;
}

bool hint_sender_replaced (const struct hint_sender *sender)
{
    return sender->replaced;
}

static int64_t later (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t hint_sender_due_us (const struct hint_sender *sender)
{
    if (sender->sending != NONE)
        return sender->timer_us;
    if (sender->news)
        return sender->retry_us;
    return sender->hints_length > 0 ? later (sender->hints_us, sender->retry_us) : INT64_MAX;
}

bool hint_sender_flush (struct hint_sender *sender)
{
    bool reachable = sender->pause_us == INTERVAL_US;
    if (reachable && sender->sending == NONE)
        sender->hints_us = 0;
    return reachable && (sender->sending != NONE || sender->news || sender->hints_length > 0);
}
