/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints on their way to the daemon: the latest message, at most one per second, by HTTP/1.1 on
 * this machine, never waiting for anybody.  Use:
 *
 *     forward_offer (forward, text, length);          when the agent has sent one
 *     forward_step (forward, now_us);                 when its socket is ready, or at
 *     forward_due_us (forward)
 */
#ifndef BACKEND_HINT_SENDER_H
#define BACKEND_HINT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct hint_sender;

/* The socket joins epoll under this tag.  -EINVAL for a URL that is none of this machine's. */
int hint_sender_new (const char *url, const char *token, const char *job, int epoll, uint64_t tag,
                     struct hint_sender **ret, struct pollux_error *err);
void hint_sender_free (struct hint_sender *sender);

/* Take a message of at most RUN_MESSAGE_LIMIT bytes in place of one that has not left yet. */
void hint_sender_offer (struct hint_sender *sender, const char *text, size_t length);

/* Do what can be done without waiting.  Returns the HTTP status with which the daemon has just
 * refused a message (it is not sent again), 0 otherwise. */
int hint_sender_step (struct hint_sender *sender, int64_t now_us);

/* When to call forward_step though nothing happened; INT64_MAX: never. */
int64_t hint_sender_due_us (const struct hint_sender *sender);

/* The last message must not wait for its second.  True as long as one is on its way, or can leave
 * at once; false if there is none, or if the daemon does not answer. */
bool hint_sender_flush (struct hint_sender *sender);

#endif
