/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the daemon share: open.c makes it, recover.c remembers, wheel.c turns. */
#ifndef DAEMON_DAEMON_PRIVATE_H
#define DAEMON_DAEMON_PRIVATE_H

#include "api/api.h"
#include "api/tokens.h"
#include "backend/backend.h"
#include "base/clock.h"
#include "daemon/access_log.h"
#include "daemon/daemon.h"
#include "daemon/state.h"
#include "daemon/async_decider.h"
#include "daemon/round_schedule.h"
#include "loop/cluster_status.h"
#include "store/reader.h"
#include "store/store.h"

struct daemon {
    const struct daemon_options *options;
    struct wire_config config;
    struct logger logger;
    struct access_log access_log;
    struct state state;
    struct clock clock;
    struct store *store;
    struct reader *reader;
    struct tokens *tokens;
    struct async_decider *decider;
    const struct backend_ops *backend;
    void *backend_self;
    struct api *api;
    struct http_server *http;
    struct loop loop;
    struct cluster_status status; /* reports, past rounds, counters; read by the API */
    struct journal journal;       /* the store's, behind the loop's */
    struct round round;           /* how full rounds decide */
    struct round_schedule schedule;
    bool cold;    /* the next full round has no memory of earlier ones */
    bool dirty;   /* something happened that has not been settled */
    bool retries; /* it may have been a failure, whose retry is not in the timetable yet */
    int stopping; /* times that we were asked to */
    int broken;   /* why the journal can no longer be trusted to know everything; 0: it does */
    struct pollux_error why;
    int epoll, signals;
};

/* Who a wake-up is for. */
enum tag { TAG_HTTP, TAG_BACKEND, TAG_SIGNAL, TAG_THOUGHT };

/* Fold the journal: the cluster as it was, and when the last full round was. */
int recover (struct daemon *daemon, int64_t *ret_last_full_us, struct pollux_error *err);

/* Tell the journal of nodes that are new, changed or gone. */
int declare_nodes (struct daemon *daemon, struct pollux_error *err);

/* Give the event its time, check, remember and believe it.  -EINVAL: it does not fit, and nothing
 * happened; any other failure breaks the daemon. */
int post (struct daemon *daemon, struct event *event, struct pollux_error *err);

/* Where the loop remembers: the store, with those who look on. */
struct journal journal_tap (struct daemon *daemon);

/* How full rounds decide, by the configuration. */
struct round configured_round (const struct wire_config *config, const struct policy *policy);

/* Read the configuration and the tokens again; what cannot change while running is told. */
void reload (struct daemon *daemon);

#endif
