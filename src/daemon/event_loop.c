/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: wait, take events, begin a round if one is due, settle, release answers.
 *
 * Answers to requests that change something are held until the commit.  If the journal cannot be
 * written, the daemon ends: its cluster would differ from its journal.  Jobs go on under their
 * supervisors, and the next daemon finds every change that was acknowledged.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/daemon_private.h"
#include "daemon/notify.h"

/* How long clients may take to read their last answers when the daemon stops. */
static const int64_t LAST_ANSWERS_US = 2000000;
/* Besides the grace of jobs: for signals on their way, a query of the end every 15 s, and the rest. */
static const double END_MARGIN_S = 45;

/* How often to look for a newer epoch. */
static const int64_t EPOCH_CHECK_US = 1000000;

/* ---- Waiting ---- */

static int64_t earlier_us (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Time from now until due_us, at least 0; INT64_MAX stays INT64_MAX. */
static int64_t until (int64_t due_us, int64_t now_us)
{
    if (due_us <= now_us)
        return 0;
    return due_us == INT64_MAX ? INT64_MAX : due_us - now_us;
}

/* Milliseconds until the next thing is due, -1 if nothing is. */
static int epoll_timeout_ms (const struct daemon *daemon)
{
    int64_t now_us = clock_now_us (&daemon->clock), monotonic_us = clock_monotonic_us ();
    int64_t wait_us = until (api_due_us (daemon->api), now_us);
    bool deciding = !daemon->stopping && !async_decider_busy (daemon->decider);
    if (deciding && (daemon->loop.cluster.live.count > 0 || size_is_open (daemon)))
        wait_us = earlier_us (wait_us, until (round_schedule_due_us (&daemon->schedule), now_us));
    wait_us = earlier_us (wait_us, until (http_server_due_us (daemon->http), monotonic_us));
    wait_us =
        earlier_us (wait_us, until (daemon->backend->due_us (daemon->backend_self), monotonic_us));
    if (!daemon->stopping) {
        wait_us = earlier_us (wait_us, until (daemon->power_due_us, now_us));
        wait_us = earlier_us (wait_us, until (power_hooks_due_us (daemon->hooks), monotonic_us));
    }
    if (daemon->state.epoch.number > 0)
        wait_us = earlier_us (wait_us, until (daemon->check_us, monotonic_us));
    if (wait_us == INT64_MAX)
        return -1;
    int64_t ms = (wait_us + 999) / 1000;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Begin to stop; for reason see the log. */
static void begin_stop (struct daemon *daemon, const char *reason, bool stop_jobs)
{
    say (&daemon->logger, LOG_INFO, "stopping", LOG_TEXT ("reason", reason),
         LOG_INT ("running", daemon->backend->count (daemon->backend_self)));
    if (daemon->stopping++ > 0)
        return;
    daemon->stop_jobs = stop_jobs;
    if (stop_jobs) {
        daemon->backend->stop_all (daemon->backend_self);
        daemon->dirty = true; /* settle, so that the backend acts */
    }
}

static void take_signals (struct daemon *daemon)
{
    struct signalfd_siginfo info;
    while (read (daemon->signals, &info, sizeof (info)) == sizeof (info)) {
        if (info.ssi_signo == SIGHUP) {
            reload (daemon);
            continue;
        }
        begin_stop (daemon, strsignal ((int)info.ssi_signo), daemon->options->stop_jobs);
    }
}

/* The place where jobs run ends at a known time: everything stops before, with time for the longest
 * grace. */
static void watch_end (struct daemon *daemon)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    int64_t end_s = daemon->backend->end_s ? daemon->backend->end_s (daemon->backend_self) : -1;
    int64_t now_us = clock_monotonic_us ();
    double grace_s = 0;
    if (end_s < 0 || daemon->stopping || now_us < daemon->end_checked_us + 1000000)
        return;
    daemon->end_checked_us = now_us;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct launch *launch = cluster->live.jobs[i]->launch;
        if (launch && job_runs (cluster->live.jobs[i]) && launch->grace_s > grace_s)
            grace_s = launch->grace_s;
    }
    double left_s = (double)end_s - (double)clock_wall_us () * 1e-6;
    if (left_s < grace_s + END_MARGIN_S)
        begin_stop (daemon, "the allocation ends", true);
}

/* ---- Rounds ---- */

/* The decider's thread has finished: post its plan, and the size.  If it found none, or one that does not fit, the next round
 * tries again. */
static int post_async_plan (struct daemon *daemon, struct pollux_error *err)
{
    const struct plan *plan = NULL;
    double seconds = 0;
    const struct failure_hook *hook = &daemon->loop.failure_hook;
    struct pollux_error why;
    int rc = async_decider_finish (daemon->decider, &plan, &seconds, &why), unsized = 0;
    if (rc == 0) {
        daemon->loop.timer.decided (daemon->loop.timer.self, NULL, plan, seconds);
        struct event event = {.type = EVENT_PLAN, .job = -1, .plan = plan};
        rc = post (daemon, &event, &why);
    }
    if (rc == 0)
        unsized = post_async_size (daemon, &why);
    if (daemon->failed)
        return fail (err, rc < 0 ? rc : unsized, "%s", why.text);
    if (rc < 0)
        hook->undecided (hook->self, &why, seconds);
    else if (unsized < 0)
        hook->unsized (hook->self, &why);
    return 0;
}

/* Request a prompt round for each job that waits after a failure, at the end of its back-off. */
static void request_retry_rounds (struct daemon *daemon, int64_t now_us)
{
    const struct job_list *live = &daemon->loop.cluster.live;
    daemon->retries = false;
    for (int i = 0; i < live->count; i++)
        if (live->jobs[i]->phase == JOB_PENDING && live->jobs[i]->retry_us > now_us)
            round_schedule_request (&daemon->schedule, live->jobs[i]->retry_us);
}

/* Is there a job that waits, and a free slot?  Otherwise a prompt round would change nothing. */
static bool pending_job_fits (const struct daemon *daemon, int64_t now_us)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    int64_t free_slots = 0;
    bool waits = false;
    for (int i = 0; i < cluster->node_count; i++)
        free_slots += cluster->nodes[i].available ? cluster->nodes[i].slots : 0;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        int runs = placement_replicas (job->placement), wants = placement_replicas (job->desired);
        free_slots -= runs > wants ? runs : wants;
        waits |= runs + wants == 0 && job->retry_us <= now_us;
    }
    return waits && free_slots > 0;
}

/* Journal the agents' reports since the last full round as one HINTS event. */
static int post_reports (struct daemon *daemon, struct pollux_error *err)
{
    struct report_set *reports = &daemon->status.reports;
    struct event event = {.type = EVENT_HINTS, .job = -1};
    event.hints.count = report_set_collect (reports, &daemon->loop.cluster, &event.hints.reports);
    if (event.hints.count == 0)
        return 0;
    int rc = post (daemon, &event, err);
    if (rc == 0)
        report_set_drop (reports);
    return rc;
}

static int begin_round (struct daemon *daemon, struct pollux_error *err)
{
    int64_t now_us = clock_now_us (&daemon->clock);
    if (daemon->stopping || async_decider_busy (daemon->decider) ||
        (daemon->loop.cluster.live.count == 0 && !size_is_open (daemon)))
        return 0;
    if (daemon->retries)
        request_retry_rounds (daemon, now_us);
    enum round_kind kind = round_schedule_due (&daemon->schedule, now_us);
    if (kind == ROUND_NONE)
        return 0;
    round_schedule_begin (&daemon->schedule, kind, now_us);
    request_retry_rounds (daemon, now_us); /* round_schedule_begin has cleared all requests */
    daemon->status.next_round_us = daemon->schedule.full_us;
    if (kind == ROUND_PROMPT && !pending_job_fits (daemon, now_us))
        return 0;
    int rc = kind == ROUND_FULL ? post_reports (daemon, err) : 0;
    if (rc < 0)
        return rc;
    struct event event = {.type = EVENT_ROUND, .job = -1, .round = daemon->round};
    event.round.seed = (uint64_t)store_count (daemon->store);
    event.round.fill = daemon->filling = kind == ROUND_PROMPT;
    event.round.cold = kind == ROUND_FULL && daemon->cold;
    daemon->cold &= kind != ROUND_FULL;
    return post (daemon, &event, err);
}

/* ---- Settling ---- */

/* Journal what a job has reported since the last full round, before it ends: later jobs learn from it. */
static int post_last_report (struct daemon *daemon, int job, struct pollux_error *err)
{
    struct report_set *reports = &daemon->status.reports;
    const struct report *last = report_set_latest (reports, job);
    if (!last)
        return 0;
    struct event event = {.type = EVENT_HINTS, .job = -1, .hints = {.count = 1, .reports = last}};
    int rc = post (daemon, &event, err);
    if (rc == 0)
        report_set_drop_job (reports, job);
    return rc;
}

static int take_exits (struct daemon *daemon, struct pollux_error *err)
{
    struct event event;
    int rc = 0;
    while (rc == 0 &&
           daemon->backend->next_event (daemon->backend_self, &daemon->loop.cluster, &event) > 0) {
        if (event.type == EVENT_EXIT)
            rc = post_last_report (daemon, event.job, err);
        if (rc == 0)
            rc = post (daemon, &event, err);
    }
    return rc;
}

static int compact (struct daemon *daemon, struct pollux_error *err)
{
    if (async_decider_busy (daemon->decider) ||
        !store_compact_due (daemon->store, daemon->config.keep_events))
        return 0;
    struct pollux_error why;
    struct round_summary *rounds = malloc (ROUND_HISTORY_LIMIT * sizeof (rounds[0]));
    int rc = rounds ? store_compact (daemon->store, &daemon->loop.cluster, rounds,
                                     round_history_list (&daemon->status.rounds, rounds),
                                     &daemon->status.history, &why)
                    : fail (&why, -EINVAL, "not enough memory for the list of rounds");
    free (rounds);
    if (rc == -EINVAL || rc == -EFBIG) { /* the journal is unchanged; it may grow */
        say (&daemon->logger, LOG_ERROR, "journal not compacted", LOG_TEXT ("why", why.text));
        return 0;
    }
    if (rc < 0)
        return fail (err, rc, "%s", why.text);
    daemon->cold = true;
    say (&daemon->logger, LOG_DEBUG, "journal compacted",
         LOG_INT ("events", store_count (daemon->store)));
    return 0;
}

static int settle (struct daemon *daemon, struct pollux_error *err)
{
    int rc = 0;
    while (rc == 0 && daemon->dirty) {
        daemon->dirty = false;
        rc = loop_settle (&daemon->loop, err);
        if (rc == 0)
            rc = take_exits (daemon, err); /* of replicas that could not be started */
    }
    return rc == 0 ? compact (daemon, err) : rc;
}

/* Shared state, once a second: end if another daemon is in charge.  That one's address is restored, too,
 * if a daemon that it superseded has just overwritten it. */
static int check_shared_state (struct daemon *daemon, struct pollux_error *err)
{
    int64_t now_us = clock_monotonic_us ();
    if (daemon->state.epoch.number == 0 || now_us < daemon->check_us)
        return 0;
    daemon->check_us = now_us + EPOCH_CHECK_US;
    int rc = check_epoch (daemon, err);
    return rc < 0 ? rc : write_address (daemon, err);
}

static int run_once (struct daemon *daemon, struct pollux_error *err)
{
    struct epoll_event events[8];
    int count = epoll_wait (daemon->epoll, events, 8, epoll_timeout_ms (daemon)), rc = 0;
    if (count < 0 && errno != EINTR)
        return fail (err, -errno, "epoll_wait failed: %s", strerror (errno));
    rc = check_shared_state (daemon, err);
    for (int i = 0; rc == 0 && i < count; i++) {
        if (events[i].data.u32 == TAG_SIGNAL)
            take_signals (daemon);
        if (events[i].data.u32 == TAG_DECISION)
            rc = post_async_plan (daemon, err);
        if (events[i].data.u32 == TAG_MUNGE)
            api_verified (daemon->api);
    }
    if (rc == 0) {
        http_server_step (daemon->http, clock_monotonic_us ());
        daemon->backend->step (daemon->backend_self, &daemon->loop.cluster);
        daemon->dirty |= daemon->backend->wants_settle (daemon->backend_self);
        watch_end (daemon);
        if (api_due_us (daemon->api) <= clock_now_us (&daemon->clock))
            api_step (daemon->api);
        rc = take_exits (daemon, err);
    }
    if (rc == 0)
        rc = begin_round (daemon, err);
    if (rc == 0)
        rc = step_power (daemon, err);
    if (rc == 0 && daemon->failed)
        rc = fail (err, daemon->failed, "%s", daemon->failure.text);
    if (rc == 0)
        rc = settle (daemon, err);
    if (rc == 0)
        act_power (daemon);
    if (rc == 0)
        http_server_release (daemon->http, 0, NULL);
    return rc;
}

/* Let clients read their last answers.  No event is accepted any more. */
static void finish_answers (struct daemon *daemon)
{
    if (!daemon->failed)
        daemon->failed = fail (&daemon->failure, -ESHUTDOWN, "polluxd is stopping");
    int64_t until_us = clock_monotonic_us () + LAST_ANSWERS_US;
    http_server_stop (daemon->http);
    for (;;) {
        int64_t now_us = clock_monotonic_us ();
        http_server_step (daemon->http, now_us);
        if (http_server_busy (daemon->http) == 0 || now_us >= until_us)
            return;
        http_server_release (daemon->http, 503, "polluxd is stopping; try again when it is back");
        struct epoll_event event;
        epoll_wait (daemon->epoll, &event, 1, 50);
    }
}

static bool finished (const struct daemon *daemon)
{
    return daemon->stopping > 1 ||
           (daemon->stopping &&
            (!daemon->stop_jobs || daemon->backend->count (daemon->backend_self) == 0));
}

/* A failure may come from a daemon that took over: it removes files of old epochs. */
static int explain_failure (struct daemon *daemon, int rc, struct pollux_error *err)
{
    struct pollux_error why;
    if (rc == EPOCH_LOST || check_epoch (daemon, &why) != EPOCH_LOST)
        return rc;
    return fail (err, EPOCH_LOST, "%s", why.text);
}

/* STATE/live, for the batch script of `pollux slurm-pilot`: "running", then how many jobs are left. */
static int write_live (struct daemon *daemon, const char *text, struct pollux_error *err)
{
    return daemon->backend->end_s ? state_write (&daemon->state, "live", text, err) : 0;
}

int daemon_run (struct daemon *daemon, struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    daemon->status.next_round_us = daemon->schedule.full_us;
    int rc = settle (daemon, err); /* NODE events, and exits that recovery has found */
    if (rc == 0)
        rc = write_live (daemon, "running\n", err);
    say (&daemon->logger, LOG_INFO, "polluxd " POLLUX_VERSION " listens",
         LOG_TEXT ("address", http_server_address (daemon->http, 0)),
         LOG_TEXT ("state", daemon->state.path), LOG_TEXT ("policy", daemon->round.policy),
         LOG_INT ("nodes", cluster->node_count), LOG_INT ("live_jobs", cluster->live.count));
    notify ("READY=1");
    while (rc == 0 && !finished (daemon))
        rc = run_once (daemon, err);
    notify ("STOPPING=1");
    if (rc < 0) {
        rc = explain_failure (daemon, rc, err);
        api_set_unready (daemon->api, daemon->superseded ? "another polluxd took over"
                                                         : "the journal cannot be written");
        http_server_release (daemon->http, daemon->superseded ? 503 : 507, err->text);
    }
    finish_answers (daemon);
    if (rc == 0) {
        char text[16];
        snprintf (text, sizeof (text), "%d\n", cluster->live.count);
        rc = write_live (daemon, text, err);
    }
    return rc;
}
