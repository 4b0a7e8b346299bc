/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of the supervisor, one epoll and one thread:
 *
 *     signals   SIGTERM, SIGINT, SIGURG: stop; SIGCHLD: reap
 *     report    the replica's exec has succeeded, or failed and why
 *     output    a pipe from all processes of the run to out.log
 *     agent     datagrams, of which the latest goes to the daemon; news of the run go there, too
 *     sender    the connection to the daemon
 *
 * The supervisor is a subreaper: a process of the run that loses its parent becomes its child, so
 * "no child left" means that no process of the run is left.  Then the status is written, and the
 * lock of the run directory is released.
 */
#define _GNU_SOURCE
#include "backend/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "backend/agent_socket.h"
#include "backend/supervisor_private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "wire/run_news.h"

/* Between attempts to write the status. */
#define STATUS_PAUSE_US (SECOND_US / 2)
/* For the last hints after the end of the replica, and for the news of it. */
#define FLUSH_US SECOND_US
/* Bytes of output per turn, as many as a pipe holds: signals wait no longer than that. */
#define CHUNK 65536
enum {
    WARNINGS = 10,   /* about messages of the agent, so that it cannot fill the log */
    MESSAGES = 1024, /* taken per turn; sockets hold fewer */
};

/* ---- Preparing ---------------------------------------------------------------------------- */

int supervisor_prepare (struct pollux_error *err)
{
    sigset_t all;
    /* No other signal ends it: SIGHUP of a terminal, SIGPIPE, SIGUSR1 of mpirun. */
    sigfillset (&all);
    for (int i = 1; i < NSIG; i++)
        signal (i, SIG_DFL); /* with an ignored SIGCHLD, children reap themselves */
    sigdelset (&all, SIGSEGV);
    sigdelset (&all, SIGBUS);
    sigdelset (&all, SIGFPE);
    sigdelset (&all, SIGILL);
    sigdelset (&all, SIGABRT);
    if (sigprocmask (SIG_SETMASK, &all, NULL) < 0)
        return fail (err, -errno, "cannot block signals: %s", strerror (errno));
    int rc = file_open_standard (err);
    if (rc < 0)
        return rc;
    return close_range (3, ~0u, 0) < 0 ? fail (err, -errno, "close_range: %s", strerror (errno))
                                       : 0;
}

static int open_loop (struct supervisor *supervisor, struct pollux_error *err)
{
    sigset_t signals;
    supervisor_signals (&signals);
    supervisor->epoll = epoll_create1 (EPOLL_CLOEXEC);
    supervisor->signals = signalfd (-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (supervisor->epoll < 0 || supervisor->signals < 0)
        return fail (err, -errno, "epoll, signalfd: %s", strerror (errno));
    return supervisor_watch (supervisor, supervisor->signals, TAG_SIGNALS, err);
}

/* ---- The event loop ----------------------------------------------------------------------- */

/* One chunk; false if there is nothing now. */
static bool take_output (struct supervisor *supervisor)
{
    char chunk[CHUNK];
    if (supervisor->output < 0)
        return false;
    ssize_t got = read (supervisor->output, chunk, sizeof (chunk));
    if (got > 0) {
        log_write (&supervisor->log, chunk, (size_t)got);
        return true;
    }
    if (got == 0 || errno != EAGAIN) {
        close (supervisor->output); /* which removes it from epoll */
        supervisor->output = -1;
    }
    return false;
}

static void take_messages (struct supervisor *supervisor)
{
    char message[RUN_MESSAGE_LIMIT];
    struct pollux_error err;
    for (int i = 0; i < MESSAGES; i++) {
        ssize_t length = agent_socket_receive (supervisor->agent, message, &err);
        if (length == -EAGAIN)
            break;
        if (length >= 0 && supervisor->sender)
            hint_sender_offer (supervisor->sender, message, (size_t)length);
        else if (length < 0 && supervisor->warnings++ < WARNINGS)
            log_mark (&supervisor->log, "a message of the agent is not sent: %s", err.text);
    }
}

/* Tell the daemon that the command runs, or how it ended.  Files are the safety net. */
static void send_news (struct supervisor *supervisor, bool ended)
{
    struct run_news news = {.generation = supervisor->name.generation,
                            .rank = supervisor->name.rank,
                            .ended = ended,
                            .status = supervisor->status};
    struct pollux_error err;
    char *text;
    size_t length;
    if (!supervisor->sender || !supervisor->description->news)
        return;
    int code = run_news_encode (&news, &text, &length, &err);
    if (code == 0) {
        code = hint_sender_add_news (supervisor->sender, text, length);
        free (text);
    }
    if (code < 0)
        log_mark (&supervisor->log, "the daemon gets no news of this run: %s", strerror (-code));
}

/* Another generation of the job runs, or none: this one was given up, for example because its node was cut
 * off.  Hints come from the replica, which may write any generation into them; so, after they are refused,
 * the supervisor's own news decide. */
static void stop_if_replaced (struct supervisor *supervisor, int refused, int64_t now_us)
{
    if (hint_sender_replaced (supervisor->sender)) {
        log_mark (&supervisor->log,
                  "the daemon says that generation %d does not run any more: it is "
                  "stopped",
                  supervisor->name.generation);
        supervisor_request_stop (supervisor, true, now_us);
    } else if (refused == 409 || refused == 410) {
        send_news (supervisor, false);
    }
}

static void step_sender (struct supervisor *supervisor, int64_t now_us)
{
    int refused = supervisor->sender ? hint_sender_step (supervisor->sender, now_us) : 0;
    if (refused && supervisor->warnings++ < WARNINGS)
        log_mark (&supervisor->log, "the daemon refused hints of the agent: HTTP status %d",
                  refused);
    if (supervisor->sender && !supervisor->ended && !supervisor->status.stopped)
        stop_if_replaced (supervisor, refused, now_us);
}

static void take_signals (struct supervisor *supervisor, int64_t now_us)
{
    struct signalfd_siginfo signal;
    while (read (supervisor->signals, &signal, sizeof (signal)) == sizeof (signal))
        if (signal.ssi_signo != SIGCHLD) {
            bool first = !supervisor->status.stopped;
            supervisor_request_stop (supervisor,
                                     supervisor_stops_once (supervisor, (int)signal.ssi_signo,
                                                            signal.ssi_code, signal.ssi_int),
                                     now_us);
            /* The daemon sends SIGURG to steps. */
            supervisor->status.outside |= first && supervisor->status.stopped &&
                                          supervisor->options->in_step &&
                                          signal.ssi_signo != SIGURG;
        }
    supervisor_reap (supervisor);
}

static int64_t earlier (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_ms (const struct supervisor *supervisor, int64_t now_us)
{
    int64_t due_us = supervisor_stop_due_us (supervisor);
    if (supervisor->sender)
        due_us = earlier (due_us, hint_sender_due_us (supervisor->sender));
    if (due_us == INT64_MAX)
        return -1;
    int64_t ms = due_us > now_us ? (due_us - now_us + 999) / 1000 : 0;
    return (int)earlier (ms, 3600 * 1000);
}

static void turn (struct supervisor *supervisor)
{
    struct epoll_event events[8];
    int count =
        epoll_wait (supervisor->epoll, events, 8, wait_ms (supervisor, clock_monotonic_us ()));
    int64_t now_us = clock_monotonic_us ();
    for (int i = 0; i < count; i++) {
        switch ((enum tag)events[i].data.u64) {
        case TAG_SIGNALS:
            take_signals (supervisor, now_us);
            break;
        case TAG_REPORT:
            supervisor_take_report (supervisor);
            if (supervisor->status.started)
                send_news (supervisor, false);
            break;
        case TAG_OUTPUT:
            take_output (supervisor);
            break;
        case TAG_AGENT:
            take_messages (supervisor);
            break;
        case TAG_MPI:
            supervisor_mpi_lost (supervisor, now_us);
            break;
        case TAG_SENDER:
            break; /* see step_sender below */
        }
    }
    step_sender (supervisor, now_us);
    supervisor_advance_stop (supervisor, now_us);
}

/* ---- The end ------------------------------------------------------------------------------ */

/* Send what waits, but do not wait long for the daemon. */
static void flush (struct supervisor *supervisor)
{
    int64_t end_us = clock_monotonic_us () + FLUSH_US;
    while (supervisor->sender && hint_sender_flush (supervisor->sender)) {
        struct epoll_event event;
        int64_t now_us = clock_monotonic_us ();
        if (now_us >= end_us)
            break;
        step_sender (supervisor, now_us);
        if (hint_sender_flush (supervisor->sender))
            epoll_wait (supervisor->epoll, &event, 1, 10);
    }
}

/* No process of the run is left: take the rest of the output, and send the last hints. */
static void drain (struct supervisor *supervisor)
{
    while (take_output (supervisor))
        ;
    take_messages (supervisor);
    flush (supervisor);
}

/* Retry until the status is written, the run directory is gone, or a plain termination signal arrives.  Stop
 * requests that may be repeated (supervisor_stops_once) do not count. */
static int write_status (struct supervisor *supervisor, struct pollux_error *err)
{
    struct timespec pause = {.tv_nsec = STATUS_PAUSE_US * 1000};
    sigset_t signals;
    supervisor_stop_signals (&signals);
    struct pollux_error why;
    int code;
    fault_point ("run-status");
    while ((code = run_write_status (&supervisor->run, &supervisor->status, &why)) < 0) {
        siginfo_t signal;
        if (code == -ENOENT)
            break; /* the directory was removed: the exit code is all that is left */
        if (sigtimedwait (&signals, &signal, &pause) > 0 &&
            !supervisor_stops_once (supervisor, signal.si_signo, signal.si_code,
                                    signal.si_value.sival_int))
            return fail (err, -EIO, "the status was not written: %s", why.text);
    }
    fault_point ("run-ended");
    return 0;
}

static void close_all (struct supervisor *supervisor)
{
    int files[] = {supervisor->epoll, supervisor->signals, supervisor->output, supervisor->agent,
                   supervisor->replica.report};
    hint_sender_free (supervisor->sender);
    munge_worker_free (supervisor->munge);
    log_close (&supervisor->log);
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++)
        if (files[i] >= 0)
            close (files[i]);
    for (char **at = supervisor->node_variables; *at; at++)
        free (*at);
    agent_socket_remove (supervisor->info.socket);
    if (*supervisor->info.cgroup)
        rmdir (supervisor->info.cgroup);
    run_close (&supervisor->run);
}

/* Did a stop come before the start? */
static bool stop_is_pending (void)
{
    sigset_t pending;
    sigset_t stop;
    supervisor_stop_signals (&stop);
    sigpending (&pending);
    sigandset (&pending, &pending, &stop);
    return !sigisemptyset (&pending);
}

/* Set the status of a replica that was not started. */
static void set_not_started (struct supervisor *supervisor, int code, const char *why)
{
    supervisor->status =
        (struct run_status){.code = code, .stopped = code == 143, .at_us = clock_wall_us ()};
    snprintf (supervisor->status.why, sizeof (supervisor->status.why), "%s", why);
    log_mark (&supervisor->log, "%s", why);
}

static void run_replica (struct supervisor *supervisor)
{
    struct pollux_error err = {.text = ""};
    int code = supervisor_find_node_variables (supervisor, &err);
    if (code == 0 && supervisor->options->mpi)
        code = supervisor_find_mpi (supervisor, &err);
    if (stop_is_pending ()) {
        sigset_t signals;
        struct timespec now = {0};
        supervisor_signals (&signals);
        while (sigtimedwait (&signals, NULL, &now) > 0)
            ; /* from now on a signal means: give up writing the status */
        set_not_started (supervisor, 143, "stopped before it was started");
        return;
    }
    bool excused = code < 0;
    if (code == 0)
        code = supervisor_start (supervisor, &err);
    if (code < 0 && supervisor->replica.pid == 0) {
        set_not_started (supervisor, 126, err.text);
        supervisor->status.excused = excused;
        return;
    }
    if (code < 0)
        supervisor_begin_killing (supervisor, 0); /* it cannot be watched */
    while (!supervisor->ended || !supervisor->no_children ||
           supervisor_awaits_stop (supervisor, clock_monotonic_us ()))
        turn (supervisor);
    supervisor_take_report (supervisor);
    supervisor_judge (supervisor);
    drain (supervisor);
}

int supervisor_run (int root, const struct run_name *name,
                    const struct run_description *description,
                    const struct supervisor_options *options, struct run_status *ret,
                    struct pollux_error *err)
{
    struct supervisor *supervisor = calloc (1, sizeof (*supervisor));
    if (!supervisor)
        return fail (err, -ENOMEM, "not enough memory");
    supervisor->description = description;
    supervisor->options = options;
    supervisor->root = root;
    supervisor->name = *name;
    supervisor->run = (struct run){.generation = -1, .directory = -1, .lock = -1};
    supervisor->replica.report = supervisor->log.file = -1;
    supervisor->epoll = supervisor->signals = supervisor->output = supervisor->agent = -1;
    supervisor->mpi.proxy = supervisor->mpi.parent = -1;
    int code = open_loop (supervisor, err);
    if (code == 0)
        code = supervisor_identify (supervisor, name, err);
    if (code == 0)
        code = supervisor_open_run (supervisor, root, name, err);
    if (code == 0) {
        if (chdir ("/") < 0) /* so that file systems can be unmounted */
            log_mark (&supervisor->log, "/: %s", strerror (errno));
        run_replica (supervisor);
        supervisor_mpi_ended (supervisor);
        code = write_status (supervisor, err);
        send_news (supervisor, true);
        flush (supervisor);
        *ret = supervisor->status;
    }
    supervisor_mpi_close (supervisor);
    close_all (supervisor);
    free (supervisor);
    return code;
}
