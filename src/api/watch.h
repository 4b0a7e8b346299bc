/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/watch: the whole cluster for a page that stays open, first as a snapshot and then as changes.
 *
 *     commit, report --> watch_wake --> api_due_us --> watch_step: messages for all clients
 *
 * A message is made once and sent to all clients.  One that is too slow misses messages, and catches up with one of
 * its own when it has read the last: at any time it has at most HTTP_PACKETS_MAX messages.
 */
#ifndef API_WATCH_H
#define API_WATCH_H

#include <stdint.h>

struct api;
struct watch;

struct watch *watch_new (void);
/* NULL is fine. */
void watch_free (struct watch *watch);

/* Something may have changed: events were committed. */
void watch_committed (struct api *api);
/* The job has sent a report. */
void watch_reported (struct api *api, int job);
/* The cluster is another one: forget all rows, and send a snapshot to every client. */
void watch_restart (struct api *api);

/* When there is something to send, on the clock of api_due_us (INT64_MAX: there is no client), and sending it. */
int64_t watch_due_us (const struct api *api);
void watch_step (struct api *api);

#endif
