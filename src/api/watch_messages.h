/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of GET /v1/watch as text (docs/api.md), in packets for the streams of clients.  Functions that make a
 * packet return NULL without memory. */
#ifndef API_WATCH_MESSAGES_H
#define API_WATCH_MESSAGES_H

#include "api/watch_rows.h"

struct api;
struct http_packet;

/* What the last messages have told: the next one has what differs.  Zero to begin with. */
struct watch_told {
    char *status;   /* without its time */
    char *playback; /* NULL: the cluster is live */
    char *groups;   /* without what time alone changes; NULL: not told yet */
    int64_t rounds, changes;
};
void watch_told_clear (struct watch_told *told);

/* The mark of a message: the time of its last event, by which the journal that it belongs to is known again. */
#define WATCH_MARK "%llx"

/* What messages are made from. */
struct watch_state {
    const struct api *api;
    const struct present *present;
    const struct watch_rows *rows;
    struct watch_told *told;
    int64_t number; /* of the last event */
};

/* What has changed since the last messages, which ended with event `before`.  *ret_empty: nothing, and the message has
 * the time only. */
struct http_packet *watch_change (const struct watch_state *state, int64_t before, bool *ret_empty);

/* What a client does not have. */
struct http_packet *watch_catch_up (const struct watch_state *state,
                                    const struct watch_known *known);

/* A snapshot in two packets: the client's own start, with the number of the snapshot's last event, and the rest for
 * all clients.  After watch_change. */
struct http_packet *watch_snapshot_start (int64_t number, const char *name, unsigned role);
struct http_packet *watch_snapshot (const struct watch_state *state);

#endif
