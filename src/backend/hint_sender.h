/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends messages of a supervisor to the daemon by HTTP, without waiting:
 *
 *     news    what happened to the run: all of them, in order, at once     POST /v1/jobs/JOB/runs
 *     hints   of the agent: the latest, at most one per second             POST /v1/jobs/JOB/hints
 *
 * Use:
 *
 *     hint_sender_offer (sender, text, length);       when the agent has sent a message
 *     hint_sender_add_news (sender, text, length);        when the run has started or ended
 *     hint_sender_step (sender, now_us);              when its descriptor is ready, or at
 *     hint_sender_due_us (sender)
 */
#ifndef BACKEND_HINT_SENDER_H
#define BACKEND_HINT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct hint_sender;

/* Copied by hint_sender_new, except epoll and self. */
struct hint_sender_options {
    const char *url;   /* unix:/PATH, http://HOST:PORT or https://HOST:PORT */
    const char *token; /* sent as Authorization: Bearer; NULL: none */
    const char *ca;    /* file of the certificates that https trusts; NULL: the system's */
    const char *job;
    int deadline_ms; /* of one request, from name to answer; 0: 5000 */
    int epoll;       /* one descriptor is added to it, with this tag */
    uint64_t tag;
    /* Write the value of the Authorization header for one request into ret, with its NUL; it takes the
     * token's place.  -EINPROGRESS: not ready yet; it is called again soon, with this body or newer hints.
     * Other negative errno values: the request is made again after a pause.  NULL: none.  It is called from
     * hint_sender_step and must not wait. */
    int (*sign) (void *self, const char *method, const char *target, const void *body,
                 size_t length, char *ret, size_t size);
    void *self;
};

/* Nothing is sent yet.  -EINVAL: the URL is malformed. */
int hint_sender_new (const struct hint_sender_options *options, struct hint_sender **ret,
                     struct pollux_error *err);
void hint_sender_free (struct hint_sender *sender);

/* Replace the waiting hints; at most RUN_MESSAGE_LIMIT bytes. */
void hint_sender_offer (struct hint_sender *sender, const char *text, size_t length);

/* Append news; at most RUN_MESSAGE_LIMIT bytes.  -ENOBUFS: too many wait; -EFBIG; -ENOMEM. */
int hint_sender_add_news (struct hint_sender *sender, const char *text, size_t length);

/* Connect, send and receive as far as possible without waiting.  Returns the HTTP status if the
 * daemon has refused a message (it is not sent again), otherwise 0. */
int hint_sender_step (struct hint_sender *sender, int64_t now_us);

/* True once the daemon has answered news with 409 or 410: the generation that the news name does not run any
 * more, as far as the daemon knows. */
bool hint_sender_replaced (const struct hint_sender *sender);

/* When to call hint_sender_step even if the descriptor is not ready; INT64_MAX: never. */
int64_t hint_sender_due_us (const struct hint_sender *sender);

/* Send what waits at once.  True while a message waits or is being sent; false if there is none, or
 * if the daemon does not answer. */
bool hint_sender_flush (struct hint_sender *sender);

#endif
