/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends hints to the daemon: the latest message, at most one per second, by HTTP/1.1 on this
 * machine, without waiting.  Use:
 *
 *     hint_sender_offer (sender, text, length);       when the agent has sent a message
 *     hint_sender_news (sender, text, length);        when the run has started or ended
 *     hint_sender_step (sender, now_us);              when its socket is ready, or at
 *     hint_sender_due_us (sender)
 */
#ifndef BACKEND_HINT_SENDER_H
#define BACKEND_HINT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct hint_sender;

/* The socket is added to epoll with this tag.  -EINVAL: the URL is not one of this machine. */
int hint_sender_new (const char *url, const char *token, const char *job, int epoll, uint64_t tag,
                     struct hint_sender **ret, struct pollux_error *err);
void hint_sender_free (struct hint_sender *sender);

/* Replace the waiting message; at most RUN_MESSAGE_LIMIT bytes. */
void hint_sender_offer (struct hint_sender *sender, const char *text, size_t length);

/* Append news of the run (wire/run_news.h), which go to /v1/jobs/JOB/runs in order and before hints; at
 * most RUN_MESSAGE_LIMIT bytes.  -ENOBUFS: too many wait; -EFBIG; -ENOMEM. */
int hint_sender_news (struct hint_sender *sender, const char *text, size_t length);

/* Connect, send and receive as far as possible without waiting.  Returns the HTTP status if the
 * daemon has refused a message (it is not sent again), otherwise 0. */
int hint_sender_step (struct hint_sender *sender, int64_t now_us);

/* When to call hint_sender_step even if the socket is not ready; INT64_MAX: never. */
int64_t hint_sender_due_us (const struct hint_sender *sender);

/* Send the last message at once.  True while one waits or is being sent; false if there is none, or
 * if the daemon does not answer. */
bool hint_sender_flush (struct hint_sender *sender);

#endif
