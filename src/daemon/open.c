/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a daemon: each part after the parts that it needs.  daemon_free undoes it, half-built too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/daemon_private.h"
#include "daemon/stop_signals.h"
#include "policy/policy_options.h"
#include "api/tokens.h"

/* Decisions with at least this many slots x jobs take milliseconds and get a thread. */
enum { LONG_DECISION = 1 << 16 };

struct round configured_round (const struct wire_config *config, const struct policy *policy)
{
    struct round round = {.interval_s = config->interval_s,
                          .restart_delay_s = config->restart_delay_s,
                          .p = config->p,
                          .experience = config->experience,
                          .search = policy->search,
                          .least_age_s = config->interval_s};
    round.settings = policy_settings_of (policy, &config->settings, &round.p);
    memcpy (round.policy, config->policy, sizeof (round.policy));
    return round;
}

int daemon_policy (const char *name, const struct policy **ret, struct pollux_error *err)
{
    const struct policy *policy = NULL;
    int rc = policy_find (name, &policy, err);
    if (rc == 0 && policy->oracle)
        rc = fail (err, -EINVAL,
                   "policy %s needs the true remaining times of jobs, so it works in simulations "
                   "only; choose another "
                   "with --policy",
                   name);
    if (rc == 0)
        *ret = policy;
    return rc;
}

static int64_t api_now_us (void *self)
{
    return clock_now_us (&((struct daemon *)self)->clock);
}

static int api_post (void *self, struct event *event, struct pollux_error *err)
{
    return post (self, event, err);
}

static int api_report (void *self, const struct report *report, int generation,
                       struct pollux_error *err)
{
    struct daemon *daemon = self;
    int rc =
        report_set_take (&daemon->status.reports, &daemon->loop.cluster, report, generation, err);
    if (rc < 0)
        return rc;
    const struct cluster *cluster = &daemon->loop.cluster;
    const char *type = report_set_strange_type (&daemon->status.reports, cluster, report->job);
    if (type)
        say (&daemon->logger, LOG_WARNING, "a job reports a type that no node has",
             LOG_TEXT ("job", cluster->jobs[report->job]->spec.name), LOG_TEXT ("type", type));
    daemon->backend->reported (daemon->backend_self, cluster, report->job);
    return 0;
}

static int api_news (void *self, int job, const struct run_news *news, struct pollux_error *err)
{
    struct daemon *daemon = self;
    const struct cluster *cluster = &daemon->loop.cluster;
    int rc = report_set_check (cluster, job, news->generation, err);
    return rc < 0 ? rc : daemon->backend->news (daemon->backend_self, cluster, job, news, err);
}

static void api_report_refused (void *self, int job, const char *why)
{
    report_set_refuse (&((struct daemon *)self)->status.reports, job, why);
}

static int api_open_log (void *self, const char *job, int generation, int rank, int number,
                         int *ret, struct pollux_error *err)
{
    struct daemon *daemon = self;
    return daemon->backend->open_log (daemon->backend_self, job, generation, rank, number, ret,
                                      err);
}

static int api_read_log (void *self, const char *job, int generation, int rank, int64_t lines,
                         const struct log_position *from, struct log_piece *ret,
                         struct pollux_error *err)
{
    struct daemon *daemon = self;
    return daemon->backend->read_log (daemon->backend_self, job, generation, rank, lines, from, ret,
                                      err);
}

static int api_check (void *self, const struct launch *launch, struct pollux_error *err)
{
    struct daemon *daemon = self;
    return daemon->backend->check ? daemon->backend->check (daemon->backend_self, launch, err) : 0;
}

static int api_first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    struct daemon *daemon = self;
    return daemon->backend->first_failure (daemon->backend_self, job, generation, ret_rank);
}

static int api_oldest_log (void *self, const char *job, int last, int *ret)
{
    struct daemon *daemon = self;
    return daemon->backend->oldest_log (daemon->backend_self, job, last, ret);
}

static char *api_checkpoint_dir (void *self, const struct job *job)
{
    struct daemon *daemon = self;
    return daemon->backend->checkpoint_dir (daemon->backend_self, job);
}

static int job_token (void *self, const char *job, int generation, char *ret, size_t size)
{
    struct daemon *daemon = self;
    if (size < TOKEN_JOB_SIZE)
        return -ENOSPC;
    tokens_job (daemon->tokens, job, generation, ret);
    return 0;
}

static void log_backend (void *self, int level, const char *text)
{
    struct daemon *daemon = self;
    enum log_level ours = level <= 3   ? LOG_ERROR
                          : level == 4 ? LOG_WARNING
                          : level <= 6 ? LOG_INFO
                                       : LOG_DEBUG;
    logger_write (&daemon->logger, ours, text, NULL, 0);
}

static void decided (void *self, const struct view *view, const struct plan *plan, double seconds)
{
    (void)view;
    (void)plan;
    struct daemon *daemon = self;
    cluster_status_decided (&daemon->status, seconds);
    async_decider_measured (daemon->decider, seconds);
    round_schedule_end (&daemon->schedule, clock_now_us (&daemon->clock), seconds);
    if (daemon->filling) /* free slots of one type may suit a policy that all nodes do not */
        return;
    if (daemon->undecided.text[0])
        say (&daemon->logger, LOG_INFO, "the policy finds plans again",
             LOG_TEXT ("policy", daemon->loop.policy->name));
    daemon->undecided.text[0] = '\0';
}

/* A round found no plan.  After a full one the memory of the policy is not trusted: a replay could not tell what it was. */
static void undecided (void *self, const struct pollux_error *why, double seconds)
{
    struct daemon *daemon = self;
    daemon->cold |= !daemon->filling;
    async_decider_measured (daemon->decider, seconds);
    round_schedule_end (&daemon->schedule, clock_now_us (&daemon->clock), seconds);
    if (strcmp (daemon->undecided.text, why->text) == 0)
        return; /* it was said */
    daemon->undecided = *why;
    say (&daemon->logger, LOG_ERROR,
         "the policy found no plan: running jobs go on, others wait, the next round tries again",
         LOG_TEXT ("policy", daemon->loop.policy->name), LOG_TEXT ("why", why->text));
}

/* A full round found a plan, and no size. */
static void unsized (void *self, const struct pollux_error *why)
{
    struct daemon *daemon = self;
    if (strcmp (daemon->unsized.text, why->text) == 0)
        return; /* it was said */
    daemon->unsized = *why;
    say (&daemon->logger, LOG_ERROR, "the size of the cluster is not decided: it stays as it is",
         LOG_TEXT ("why", why->text));
}

static double now_s (void)
{
    return (double)clock_monotonic_us () * 1e-6;
}

/* ---- One piece each ---- */

static int add_fd (const struct daemon *daemon, int fd, enum tag tag, struct pollux_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl (daemon->epoll, EPOLL_CTL_ADD, fd, &event) == 0
               ? 0
               : fail (err, -errno, "cannot watch a descriptor: %s", strerror (errno));
}

static int open_signals (struct daemon *daemon, struct pollux_error *err)
{
    signal (SIGPIPE, SIG_IGN);
    daemon->epoll = epoll_create1 (EPOLL_CLOEXEC);
    daemon->signals = stop_signals_open ();
    if (daemon->epoll < 0 || daemon->signals < 0)
        return fail (err, -errno, "cannot make epoll or signal descriptors: %s", strerror (errno));
    return add_fd (daemon, daemon->signals, TAG_SIGNAL, err);
}

int check_epoch (void *self, struct pollux_error *err)
{
    struct daemon *daemon = self;
    if (daemon->state.epoch.number == 0)
        return 0;
    int rc = epoch_check (&daemon->state.epoch, err);
    daemon->superseded |= rc == EPOCH_LOST;
    return rc;
}

/* Of a state directory that several hosts share. */
static int open_shared_journal (struct daemon *daemon, struct pollux_error *err)
{
    char path[PATH_MAX];
    int rc = epoch_take_journal (&daemon->state.epoch, path, err);
    if (rc == 0)
        rc = store_open (path, STORE_ALONE, &daemon->store, err);
    if (rc == 0) {
        store_guard (daemon->store, check_epoch, daemon);
        rc = reader_open_store (daemon->store, &daemon->reader, err);
    }
    return rc;
}

static int open_own_journal (struct daemon *daemon, struct pollux_error *err)
{
    static const char *const files[] = {"journal.db", "journal.db-wal", "journal.db-shm"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof (files) / sizeof (files[0]); i++)
        rc = state_check (&daemon->state, files[i], err);
    if (rc < 0)
        return rc;
    char *path = state_path (&daemon->state, "journal.db");
    rc = path ? store_open (path, STORE_DURABLE, &daemon->store, err)
              : fail (err, -ENOMEM, "no memory");
    if (rc == 0)
        rc = reader_open (path, &daemon->reader, err);
    free (path);
    return rc;
}

static int open_journal (struct daemon *daemon, struct pollux_error *err)
{
    bool shared = daemon->state.epoch.number > 0;
    int rc = shared ? open_shared_journal (daemon, err) : open_own_journal (daemon, err);
    if (rc == 0)
        daemon->journal = store_journal (daemon->store);
    return rc;
}

/* The address to which supervisors on other machines report: the first one that is listened on.
 * False, with a warning: it is a socket. */
static bool remote_url (const struct daemon *daemon, char *ret, size_t size)
{
    const char *address = http_server_address (daemon->http, 0);
    snprintf (ret, size, "%s%s", http_server_scheme (daemon->http, 0), address);
    if (strncmp (address, "unix:", 5) != 0)
        return true;
    say (&daemon->logger, LOG_WARNING,
         "jobs cannot report: the first address to listen on is a socket of this machine",
         LOG_TEXT ("address", address));
    return false;
}

/* The address to which supervisors on this machine report: the socket, or else the first address to
 * listen on, if it is a loopback address with a known port.  False, with a warning, if neither is. */
static bool report_url (const struct daemon *daemon, char *ret, size_t size)
{
    if (daemon->backend->remote)
        return remote_url (daemon, ret, size);
    static const char *const here[] = {"127.", "[::1]:", "localhost:"};
    const char *listen = daemon->config.listen[0], *colon = strrchr (listen, ':');
    socket_address (daemon, ret, size);
    if (*ret)
        return true;
    snprintf (ret, size, "http://%s", listen);
    for (size_t i = 0; i < sizeof (here) / sizeof (here[0]); i++)
        if (strncmp (listen, here[i], strlen (here[i])) == 0 && colon && strcmp (colon, ":0") != 0)
            return true;
    say (&daemon->logger, LOG_WARNING,
         daemon->state.epoch.number > 0
             ? "jobs cannot report: name a loopback address and a port with --listen"
             : "jobs cannot report: the path of the state directory is too long for a socket in it",
         LOG_TEXT ("state", daemon->state.path));
    return false;
}

static int open_backend (struct daemon *daemon, struct pollux_error *err)
{
    const struct wire_config *config = &daemon->config;
    char url[300];
    bool has_url = report_url (daemon, url, sizeof (url));
    char *ca = config->tls_self_signed ? state_path (&daemon->state, TLS_CERT_NAME) : NULL;
    struct backend_options options = {
        .state = daemon->state.path,
        .program = daemon->options->program,
        .checkpoints = config->checkpoints,
        .log_limit = config->job_log_limit,
        .url = has_url ? url : NULL,
        .ca = ca,
        .nvidia_smi = config->slots == WIRE_SLOTS_CPU ? "" : daemon->options->nvidia_smi,
        .slurm = &config->slurm,
        .owner_socket = daemon->options->owner_socket,
        .munge = config->auth == WIRE_AUTH_MUNGE,
        .nodes = config->nodes,
        .node_count = config->node_count,
        .has_groups = config->group_count > 0,
        .use_cgroups = true,
        .token = job_token,
        .log = log_backend,
        .self = daemon,
    };
    int rc = daemon->backend->open (&options, &daemon->backend_self, err);
    free (ca);
    return rc;
}

static int add_backend_fd (const struct daemon *daemon, struct pollux_error *err)
{
    int fd = daemon->backend->fd (daemon->backend_self);
    return fd < 0 ? 0 : add_fd (daemon, fd, TAG_BACKEND, err);
}

/* Signed requests.  munged may start later than polluxd: say so, and go on. */
static int open_munge (struct daemon *daemon, struct pollux_error *err)
{
    struct pollux_error why = {.text = ""};
    struct munge *munge = NULL;
    char *header = NULL;
    if (daemon->config.auth != WIRE_AUTH_MUNGE)
        return 0;
    int rc = munge_open (NULL, &munge, err);
    if (rc < 0)
        return rc;
    if (munge_sign (munge, geteuid (), "GET", "/", NULL, 0, &header, &why) < 0)
        say (&daemon->logger, LOG_WARNING, "signed requests are refused until munge works",
             LOG_TEXT ("why", why.text));
    free (header);
    snprintf (daemon->challenge, sizeof (daemon->challenge), "Munge uid=%u", (unsigned)geteuid ());
    rc = munge_worker_new (munge, &daemon->munge, err);
    return rc < 0 ? rc : add_fd (daemon, munge_worker_fd (daemon->munge), TAG_MUNGE, err);
}

static int open_hooks (struct daemon *daemon, struct pollux_error *err)
{
    struct power_hooks_options options = configured_hooks (daemon, &daemon->config);
    int rc = power_hooks_new (&options, &daemon->hooks, err);
    daemon->power_changed = true; /* nodes of an earlier daemon may need commands */
    daemon->power_due_us = INT64_MAX;
    return rc < 0 ? rc : add_fd (daemon, power_hooks_fd (daemon->hooks), TAG_HOOKS, err);
}

static int open_api (struct daemon *daemon, struct pollux_error *err)
{
    struct api_options options = {
        .cluster = &daemon->loop.cluster,
        .status = &daemon->status,
        .round = &daemon->round,
        .backend = daemon->config.backend,
        .tokens = daemon->tokens,
        .munge = daemon->munge,
        .challenge = daemon->munge ? daemon->challenge : NULL,
        .admins = daemon->config.admin_users,
        .reader = daemon->reader,
        .started_us = clock_now_us (&daemon->clock),
        .now_us = api_now_us,
        .post = api_post,
        .report = api_report,
        .news = api_news,
        .report_refused = api_report_refused,
        .check = api_check,
        .open_log = daemon->backend->open_log ? api_open_log : NULL,
        .read_log = daemon->backend->read_log ? api_read_log : NULL,
        .oldest_log = api_oldest_log,
        .log_limit = daemon->config.job_log_limit,
        .checkpoint_dir = api_checkpoint_dir,
        .first_failure = api_first_failure,
        .self = daemon,
    };
    return api_new (&options, &daemon->api, err);
}

/* ---- All of them ---- */

/* Read the journal, then set clock, schedule and loop by it. */
static int recover_state (struct daemon *daemon, struct pollux_error *err)
{
    int64_t last_full_us = 0;
    int rc = recover (daemon, &last_full_us, err);
    if (rc < 0)
        return rc;
    daemon->clock = clock_start (daemon->loop.cluster.now_us);
    daemon->schedule = round_schedule_start (daemon->config.interval_s, last_full_us,
                                             clock_now_us (&daemon->clock));
    daemon->cold = daemon->retries = true;
    daemon->dirty = true; /* a committed action, such as a cancel, may not have been carried out */
    daemon->loop.journal = journal_tap (daemon);
    daemon->loop.timer = (struct decision_timer){now_s, decided, daemon};
    daemon->loop.decider_hook = async_decider_hook (daemon->decider);
    daemon->loop.failure_hook = (struct failure_hook){undecided, unsized, daemon};
    return loop_begin (&daemon->loop, err);
}

/* Errors of the state directory are -EBADMSG: -EINVAL and the like would mean wrong usage. */
static int state_error (int rc)
{
    return rc == -EINVAL || rc == -ENOENT || rc == -EEXIST ? -EBADMSG : rc;
}

static int open_all (struct daemon *daemon, struct pollux_error *err)
{
    int rc = daemon_policy (daemon->config.policy, &daemon->loop.policy, err);
    if (rc == 0)
        rc = backend_find (daemon->config.backend, &daemon->backend, err);
    if (rc == 0) {
        daemon->round = configured_round (&daemon->config, daemon->loop.policy);
        bool shared = daemon->options->shared_state || daemon->backend->shared_state;
        rc = state_error (state_open (daemon->config.state, shared, &daemon->state, err));
    }
    if (rc == 0)
        rc = open_signals (daemon, err);
    if (rc == 0)
        rc = state_error (tokens_open (daemon->state.path, &daemon->tokens, err));
    if (rc == 0)
        rc = state_error (open_journal (daemon, err));
    if (rc == 0)
        rc = async_decider_new (LONG_DECISION, &daemon->decider, err);
    daemon->clock = clock_start (0); /* until the time of the journal's last event is known */
    if (rc == 0)
        rc = open_munge (daemon, err);
    if (rc == 0)
        rc = open_api (daemon, err);
    if (rc == 0)
        rc = listen_all (daemon, err); /* requests are taken when all is open */
    if (rc == 0)
        rc = open_backend (daemon, err);
    if (rc == 0)
        rc = state_error (recover_state (daemon, err));
    if (rc == 0)
        rc = check_epoch (daemon, err); /* the backend acts */
    if (rc == 0 && daemon->state.epoch.number > 0)
        epoch_tidy (&daemon->state.epoch);
    if (rc == 0)
        rc = state_error (
            daemon->backend->recover (daemon->backend_self, &daemon->loop.cluster, err));
    if (rc == 0) {
        daemon->loop.backend = backend_for_loop (daemon->backend, daemon->backend_self);
        rc = declare_nodes (daemon, err);
    }
    if (rc == 0)
        rc = check_groups (daemon, &daemon->config, err);
    if (rc == 0)
        rc = declare_groups (daemon, &daemon->config, err);
    if (rc == 0)
        warn_of_budget (daemon, &daemon->config);
    if (rc == 0)
        rc = open_hooks (daemon, err);
    if (rc == 0)
        rc = add_fd (daemon, async_decider_fd (daemon->decider), TAG_DECISION, err);
    if (rc == 0)
        rc = add_backend_fd (daemon, err);
    if (rc == 0)
        rc = add_fd (daemon, http_server_fd (daemon->http), TAG_HTTP, err);
    if (rc == 0) {
        api_serve (daemon->api, daemon->http);
        rc = write_address (daemon, err);
    }
    return rc;
}

int daemon_new (const struct daemon_options *options, struct daemon **ret, struct pollux_error *err)
{
    struct daemon *daemon = calloc (1, sizeof (*daemon));
    if (!daemon)
        return fail (err, -ENOMEM, "no memory");
    daemon->options = options;
    daemon->logger = options->logger;
    cluster_status_init (&daemon->status);
    daemon->state.lock = daemon->epoll = daemon->signals = -1;
    int rc = options->configure (options->self, &daemon->config, err);
    if (rc == 0)
        rc = open_all (daemon, err);
    if (rc < 0) {
        daemon_free (daemon);
        return rc;
    }
    *ret = daemon;
    return 0;
}

static void close_fd (int fd)
{
    if (fd >= 0)
        close (fd);
}

void daemon_free (struct daemon *daemon)
{
    if (!daemon)
        return;
    http_server_free (daemon->http);
    access_log_flush (&daemon->access_log, &daemon->logger);
    api_free (daemon->api);
    munge_worker_free (daemon->munge);
    power_hooks_free (daemon->hooks);
    if (daemon->backend)
        daemon->backend->free (daemon->backend_self);
    async_decider_free (daemon->decider);
    loop_clear (&daemon->loop);
    cluster_status_clear (&daemon->status);
    reader_close (daemon->reader);
    if (daemon->superseded)
        store_drop (daemon->store);
    else if (store_close (daemon->store, NULL) == 0 && daemon->state.epoch.number > 0)
        epoch_close (&daemon->state.epoch, NULL);
    tokens_free (daemon->tokens);
    close_fd (daemon->signals);
    close_fd (daemon->epoll);
    state_close (&daemon->state);
    wire_config_clear (&daemon->config);
    free (daemon);
}
