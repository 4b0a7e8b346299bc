/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the daemon share: open.c builds the struct, recover.c reads the journal,
 * event_loop.c runs it. */
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
#include "daemon/power_hooks.h"
#include "daemon/round_schedule.h"
#include "http/tls.h"
#include "loop/cluster_status.h"
#include "munge/worker.h"
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
    struct munge_worker *munge; /* NULL: clients cannot sign requests */
    char challenge[64];         /* for WWW-Authenticate */
    struct async_decider *decider;
    const struct backend_ops *backend;
    void *backend_self;
    struct api *api;
    struct http_server *http;
    struct power_hooks *hooks; /* order and return nodes of groups */
    int64_t power_us;     /* when step_power looked at deadlines last, of the cluster's clock */
    int64_t power_due_us; /* the next deadline of a node, of the cluster's clock; INT64_MAX: none */
    bool power_changed;   /* since act_power: an event was posted, or what hooks do has changed */
    struct loop loop;
    struct cluster_status status; /* reports, past rounds, counters; read by the API */
    struct journal journal;       /* the store's; the loop uses journal_tap around it */
    struct round round;           /* parameters of full rounds */
    struct round_schedule schedule;
    bool filling;                /* the last round was a prompt one */
    bool cold;                   /* the next full round starts with fresh policy memory */
    bool dirty;                  /* events were applied since the last loop_settle */
    bool retries;                /* a job may have failed whose retry is not in the schedule yet */
    int stopping;                /* number of signals to stop */
    int64_t end_checked_us;      /* when the backend's end was looked at last */
    bool stop_jobs;              /* when stopping: stop all jobs first */
    int failed;                  /* the error after which no event is accepted; 0: none */
    struct pollux_error failure; /* its sentence */
    struct pollux_error
        undecided; /* why no plan was found since the last full round that found one; empty: all were */
    struct pollux_error
        unsized; /* why the size was not decided since the last SIZE; empty: it was each time */
    int64_t
        check_us;    /* when to look for a newer epoch, of the monotonic clock; shared state only */
    bool superseded; /* another daemon is in charge: write nothing any more */
    int epoll, signals;
};

/* Which descriptor woke epoll. */
enum tag { TAG_HTTP, TAG_BACKEND, TAG_SIGNAL, TAG_DECISION, TAG_MUNGE, TAG_HOOKS };

/* Apply snapshot and events of the journal to the cluster.  *ret_last_full_us: time of the last full
 * round, 0 without one. */
int recover (struct daemon *daemon, int64_t *ret_last_full_us, struct pollux_error *err);

/* Post NODE events for nodes of the configuration that are new, changed or gone. */
int declare_nodes (struct daemon *daemon, struct pollux_error *err);

/* ---- groups.c ---- */

/* Check whether the groups of a configuration can be those of the cluster, and its commands follow those before.  -EINVAL. */
int check_groups (const struct daemon *daemon, const struct wire_config *config,
                  struct pollux_error *err);
/* Post GROUPS if the cluster has others.  Groups that are not configured any more, but have nodes, are
 * retired; nodes beyond a maximum that was lowered stay in their group until they are off. */
int declare_groups (struct daemon *daemon, const struct wire_config *config,
                    struct pollux_error *err);
/* Warn of a budget that pays no node. */
void warn_of_budget (const struct daemon *daemon, const struct wire_config *config);
/* Post GROUPS without retired groups and surplus names whose nodes are all off. */
int drop_leftovers (struct daemon *daemon, struct pollux_error *err);

/* ---- scaling.c ---- */

/* Post the SIZE that the decision thread has found, after its PLAN.  In other rounds the loop does it. */
int post_async_size (struct daemon *daemon, struct pollux_error *err);
/* Post the POWER events that are due.  After the commit, act_power starts the commands that follow. */
void act_power (struct daemon *daemon);
int step_power (struct daemon *daemon, struct pollux_error *err);
/* True while rounds are needed although there are no jobs: the cluster can still become smaller. */
bool size_is_open (const struct daemon *daemon);
struct power_hooks_options configured_hooks (const struct daemon *daemon,
                                             const struct wire_config *config);

/* ---- journal_tap.c ---- */

/* Set the event's time, check, append and apply it.  -EINVAL: it does not fit the cluster's state, and
 * nothing changed; after any other failure no event is accepted any more. */
int post (struct daemon *daemon, struct event *event, struct pollux_error *err);

/* The loop's journal: appends to the store, then updates status, log and schedule. */
struct journal journal_tap (struct daemon *daemon);

/* Shared state: fail with EPOCH_LOST if another daemon is in charge.  self is the daemon. */
int check_epoch (void *self, struct pollux_error *err);

/* The parameters of full rounds, from the configuration. */
struct round configured_round (const struct wire_config *config, const struct policy *policy);

/* ---- listen.c ---- */

/* Listen on all configured addresses and on the socket of the state directory. */
int listen_all (struct daemon *daemon, struct pollux_error *err);
/* Write STATE/address, which `pollux` reads, if it has another text: the address with its real port. */
int write_address (struct daemon *daemon, struct pollux_error *err);
/* The socket in the state directory, "unix:PATH"; "" if the path is too long for a socket, or if several
 * hosts share the directory: a socket belongs to one host. */
void socket_address (const struct daemon *daemon, char *ret, size_t size);
/* Read the certificate of a configuration, or make it; zero if the daemon listens without TLS.  *ret is the
 * caller's (tls_clear). */
int certificate_load (struct daemon *daemon, const struct wire_config *config, struct tls *ret,
                      struct pollux_error *err);
/* Use it for new connections, unless it is zero. */
void certificate_use (struct daemon *daemon, const struct tls *tls);

/* Read configuration, certificate and tokens again; warn about changes that need a restart. */
void reload (struct daemon *daemon);

#endif
