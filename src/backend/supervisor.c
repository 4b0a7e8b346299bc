/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One epoll, one thread:
 *
 *     signals   SIGTERM, SIGINT: stop; SIGCHLD: reap
 *     report    the replica's exec has succeeded, or why not
 *     output    a pipe from all processes of the run to out.log
 *     agent     datagrams, the latest of which goes to the daemon
 *     forward   the connection to the daemon
 *
 * The supervisor is a subreaper: every process of the run that loses its parent becomes its child,
 * so that "no child left" means that nothing of the run is left, whatever it did to get away.  The
 * run's life:
 *
 *     replica runs --stop--> stopping (grace) --+
 *          |                                    v
 *          +--ends-------------------------> killing, until no child is left --> status, unlock
 */
#define _GNU_SOURCE
#include "backend/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/agent_socket.h"
#include "backend/hint_sender.h"
#include "backend/log.h"
#include "backend/replica.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

#define SECOND_US INT64_C (1000000)
/* Between passes of SIGKILL, doubling; between attempts to write the status. */
#define KILL_PAUSE_US (SECOND_US / 100)
#define KILL_PAUSE_LIMIT_US SECOND_US
#define STATUS_PAUSE_US (SECOND_US / 2)
/* A shell that the stop signal ends is gone by then. */
#define RELAY_US SECOND_US
/* For the last hints, after the replica's end. */
#define FLUSH_US SECOND_US
/* As much as a pipe holds; a signal waits for no more than that. */
#define CHUNK 65536
/* Complaints about messages: an agent that talks nonsense must not fill the log. */
enum { COMPLAINTS = 10 };
/* Taken at a time; sockets hold fewer. */
enum { MESSAGES = 1024 };
/* Shells in shells. */
enum { CHAIN = 16 };

enum tag { TAG_SIGNALS, TAG_REPORT, TAG_OUTPUT, TAG_AGENT, TAG_FORWARD };

/* A shell and what it wraps, when the stop was requested. */
struct link {
    int pid, wait_status;
    bool reaped;
};

struct supervisor {
    const struct run_description *description;
    struct run run;
    struct run_info info;
    struct run_status status;
    struct replica replica;
    struct log log;
    struct hint_sender *sender; /* NULL: nobody wants hints */
    int epoll, signals, output, agent;
    int wait_status; /* of the replica */
    bool ended;      /* the replica; others may be left */
    bool killing, alone;
    int64_t kill_us, kill_pause_us; /* when to SIGKILL, first or again */
    struct link chain[CHAIN];
    int chain_count, complaints;
    int relay;        /* that many of the chain have had the stop signal; then all have */
    int64_t relay_us; /* when all have it at the latest; 0: they had */
};

static int64_t clock_us (clockid_t clock)
{
    struct timespec now;
    clock_gettime (clock, &now);
    return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* ---- Before anything is started ----------------------------------------------------------- */

static void wanted_signals (sigset_t *ret)
{
    sigemptyset (ret);
    sigaddset (ret, SIGTERM);
    sigaddset (ret, SIGINT);
    sigaddset (ret, SIGCHLD);
}

int supervisor_prepare (struct pollux_error *err)
{
    int lowest;
    sigset_t all;
    /* Whatever else comes must not end it: SIGHUP of a terminal, SIGPIPE, SIGUSR1 of an mpirun. */
    sigfillset (&all);
    for (int i = 1; i < NSIG; i++)
        signal (i, SIG_DFL); /* an ignored SIGCHLD would reap by itself */
    sigdelset (&all, SIGSEGV);
    sigdelset (&all, SIGBUS);
    sigdelset (&all, SIGFPE);
    sigdelset (&all, SIGILL);
    sigdelset (&all, SIGABRT);
    if (sigprocmask (SIG_SETMASK, &all, NULL) < 0)
        return fail (err, -errno, "cannot hold back signals: %s", strerror (errno));
    do {
        lowest = open ("/dev/null", O_RDWR);
    } while (lowest >= 0 && lowest < 3);
    if (lowest < 0)
        return fail (err, -errno, "/dev/null: %s", strerror (errno));
    return close_range (3, ~0u, 0) < 0 ? fail (err, -errno, "close_range: %s", strerror (errno))
                                       : 0;
}

static int watch (const struct supervisor *supervisor, int file, enum tag tag,
                  struct pollux_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl (supervisor->epoll, EPOLL_CTL_ADD, file, &event) < 0
               ? fail (err, -errno, "epoll: %s", strerror (errno))
               : 0;
}

static int open_loop (struct supervisor *supervisor, struct pollux_error *err)
{
    sigset_t signals;
    wanted_signals (&signals);
    supervisor->epoll = epoll_create1 (EPOLL_CLOEXEC);
    supervisor->signals = signalfd (-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (supervisor->epoll < 0 || supervisor->signals < 0)
        return fail (err, -errno, "epoll, signalfd: %s", strerror (errno));
    return watch (supervisor, supervisor->signals, TAG_SIGNALS, err);
}

/* Who we are.  A session of our own if that is possible: the leader of a process group, as a shell
 * starts it, cannot have one. */
static int introduce (struct supervisor *supervisor, const struct run_name *name,
                      struct pollux_error *err)
{
    struct run_info *info = &supervisor->info;
    uint64_t chance;
    setsid ();
    if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
        return fail (err, -errno, "cannot adopt orphans: %s", strerror (errno));
    if (getrandom (&chance, sizeof (chance), 0) != sizeof (chance))
        return fail (err, -errno, "no random number: %s", strerror (errno));
    snprintf (info->id, sizeof (info->id), "%s.%d.%d.%016" PRIx64, name->job, name->generation,
              name->rank, chance);
    info->slots = supervisor->description->slots;
    int code = process_boot (info->boot, err);
    return code < 0 ? code : process_identify (getpid (), &info->supervisor, err);
}

/* A cgroup is a better way to kill, not a condition: without one the tree is found in /proc. */
static void make_cgroup (struct supervisor *supervisor)
{
    const char *cgroup = supervisor->description->cgroup;
    if (!cgroup)
        return;
    if (mkdir (cgroup, 0755) < 0)
        log_mark (&supervisor->log, "no cgroup %s: %s", file_name (cgroup).text, strerror (errno));
    else
        strcpy (supervisor->info.cgroup, cgroup);
}

static int open_directory (struct supervisor *supervisor, int root, const struct run_name *name,
                           struct pollux_error *err)
{
    const struct run_description *description = supervisor->description;
    int code = run_create (root, name, &supervisor->run, err);
    if (code < 0)
        return code;
    supervisor->log =
        log_open (supervisor->run.directory, description->log_size, description->log_files);
    code = agent_socket_open (root, name, supervisor->run.directory, &supervisor->agent,
                              supervisor->info.socket, err);
    if (code == 0)
        code = watch (supervisor, supervisor->agent, TAG_AGENT, err);
    if (code == 0 && description->url)
        code = hint_sender_new (description->url, description->token, name->job, supervisor->epoll,
                                TAG_FORWARD, &supervisor->sender, err);
    if (code < 0)
        return code;
    make_cgroup (supervisor);
    fault_point ("run-publish");
    return run_publish (&supervisor->run, name, &supervisor->info, err);
}

/* ---- Starting ----------------------------------------------------------------------------- */

static size_t count_strings (char **strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* Borrows all but the two strings that it writes. */
static char **make_environment (const struct supervisor *supervisor, char **extra, char *run,
                                size_t run_size, char *socket, size_t socket_size)
{
    char **given = supervisor->description->environment;
    size_t count = count_strings (given), more = count_strings (extra);
    char **environment = calloc (count + more + 3, sizeof (char *));
    if (!environment)
        return NULL;
    snprintf (run, run_size, "POLLUX_RUN=%s", supervisor->info.id);
    snprintf (socket, socket_size, "POLLUX_SOCKET=%s", supervisor->info.socket);
    if (count > 0)
        memcpy (environment, given, count * sizeof (char *));
    if (more > 0)
        memcpy (environment + count, extra, more * sizeof (char *));
    environment[count + more] = run;
    environment[count + more + 1] = socket;
    return environment;
}

static int open_cgroup (const struct supervisor *supervisor)
{
    char path[RUN_PATH_SIZE + 16];
    if (!*supervisor->info.cgroup)
        return -1;
    snprintf (path, sizeof (path), "%s/cgroup.procs", supervisor->info.cgroup);
    return open (path, O_WRONLY | O_CLOEXEC);
}

static int start (struct supervisor *supervisor, char **extra, struct pollux_error *err)
{
    char run[RUN_ID_SIZE + 16], socket[RUN_PATH_SIZE + 16];
    int ends[2];
    char **environment =
        make_environment (supervisor, extra, run, sizeof (run), socket, sizeof (socket));
    if (!environment)
        return fail (err, -ENOMEM, "not enough memory");
    int code = 0, cgroup = open_cgroup (supervisor);
    fault_point ("run-start");
    if (pipe2 (ends, O_CLOEXEC) < 0) {
        code = fail (err, -errno, "no pipe: %s", strerror (errno));
    } else {
        supervisor->output = ends[0];
        fcntl (ends[0], F_SETFL, O_NONBLOCK); /* ours alone: a replica's writes wait */
        code = replica_start (supervisor->description, environment, ends[1], cgroup,
                              &supervisor->replica, err);
        close (ends[1]);
    }
    if (cgroup >= 0)
        close (cgroup);
    free (environment);
    if (code == 0)
        code = watch (supervisor, supervisor->output, TAG_OUTPUT, err);
    if (code == 0)
        code = watch (supervisor, supervisor->replica.report, TAG_REPORT, err);
    return code;
}

/* The command runs, or it does not. */
static void take_report (struct supervisor *supervisor)
{
    struct run_process replica;
    struct pollux_error err;
    if (supervisor->replica.report < 0)
        return;
    int code =
        replica_report (&supervisor->replica, supervisor->description, supervisor->status.why);
    fault_point ("run-started");
    supervisor->status.started = code == 0;
    supervisor->status.code = code;
    if (code > 0) {
        log_mark (&supervisor->log, "%s", supervisor->status.why);
        return;
    }
    /* It serves to find the process group if we are killed; the run's id does that, too. */
    code = process_identify (supervisor->replica.pid, &replica, &err);
    if (code == 0)
        code = run_write_replica (&supervisor->run, &replica, &err);
    if (code < 0 && code != -ESRCH) /* it may have ended by now */
        log_mark (&supervisor->log, "%s", err.text);
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static void note_chain (struct supervisor *supervisor)
{
    int pids[CHAIN];
    supervisor->chain_count = process_chain (supervisor->replica.pid, pids, CHAIN);
    for (int i = 0; i < supervisor->chain_count; i++)
        supervisor->chain[i] = (struct link){.pid = pids[i]};
}

static void send_stop (const struct supervisor *supervisor, int pid)
{
    kill (pid, supervisor->description->stop_signal);
    kill (pid, SIGCONT); /* one that is halted hears nothing else */
}

/* The stop signal, to all of the process group at once; but shells that it ends have it first, one
 * after the other.  A shell that dies while its command ends can still take that one's exit status
 * with it; if it is gone before, the command is our child, and its status ours to see. */
static void relay_stop (struct supervisor *supervisor, int64_t now_us)
{
    const struct link *chain = supervisor->chain;
    int at = supervisor->relay;
    if (supervisor->relay_us == 0)
        return;
    if (now_us < supervisor->relay_us) {
        if (at > 0 && !chain[at - 1].reaped)
            return;
        if (at + 1 < supervisor->chain_count &&
            process_dies_by (chain[at].pid, supervisor->description->stop_signal)) {
            supervisor->relay++;
            send_stop (supervisor, chain[at].pid);
            return;
        }
    }
    supervisor->relay_us = 0;
    send_stop (supervisor, -supervisor->replica.pid);
}

static void begin_killing (struct supervisor *supervisor, int64_t now_us)
{
    if (supervisor->killing)
        return;
    supervisor->killing = true;
    supervisor->kill_us = now_us;
    supervisor->kill_pause_us = KILL_PAUSE_US;
}

/* Is it one of the requests that count once, however often they come? */
static bool is_repeatable (int code, int value)
{
    return code == SI_QUEUE && value == RUN_STOP_VALUE;
}

static void request_stop (struct supervisor *supervisor, bool repeatable, int64_t now_us)
{
    if (supervisor->ended && !supervisor->status.stopped)
        return; /* it has ended by itself, and what it left is being killed */
    if (supervisor->status.stopped && repeatable)
        return;
    if (supervisor->status.stopped) {
        supervisor->status.killed |= !supervisor->killing;
        begin_killing (supervisor, now_us);
        return;
    }
    supervisor->status.stopped = true;
    note_chain (supervisor);
    supervisor->relay_us = now_us + RELAY_US;
    relay_stop (supervisor, now_us);
    supervisor->kill_us = now_us + (int64_t)(supervisor->description->grace_s * (double)SECOND_US);
}

static bool by_stop_signal (const struct supervisor *supervisor, int wait_status)
{
    return supervisor->status.stopped && WIFSIGNALED (wait_status) &&
           WTERMSIG (wait_status) == supervisor->description->stop_signal;
}

static void reap (struct supervisor *supervisor)
{
    int pid, wait_status;
    while ((pid = waitpid (-1, &wait_status, WNOHANG | __WALL)) > 0) {
        if (pid == supervisor->replica.pid) {
            supervisor->ended = true;
            supervisor->wait_status = wait_status;
            supervisor->status.at_us = clock_us (CLOCK_REALTIME);
        }
        for (int i = 0; i < supervisor->chain_count; i++) {
            if (supervisor->chain[i].pid == pid && !supervisor->chain[i].reaped)
                supervisor->chain[i] =
                    (struct link){.pid = pid, .wait_status = wait_status, .reaped = true};
        }
    }
    supervisor->alone = pid < 0 && errno == ECHILD;
}

/* What the clock and the dead demand. */
static void advance (struct supervisor *supervisor, int64_t now_us)
{
    relay_stop (supervisor, now_us);
    if (supervisor->ended && !by_stop_signal (supervisor, supervisor->wait_status))
        begin_killing (supervisor, now_us);
    if (!supervisor->killing && supervisor->status.stopped && now_us >= supervisor->kill_us) {
        supervisor->status.killed = true;
        begin_killing (supervisor, now_us);
    }
    if (!supervisor->killing || supervisor->alone || now_us < supervisor->kill_us)
        return;
    struct process_tree tree = {.ancestor = getpid (), .cgroup = supervisor->info.cgroup};
    process_signal_tree (&tree, SIGKILL, NULL); /* what it missed is there next time */
    supervisor->kill_us = now_us + supervisor->kill_pause_us;
    if (supervisor->kill_pause_us < KILL_PAUSE_LIMIT_US)
        supervisor->kill_pause_us *= 2;
}

/* ---- What comes in ------------------------------------------------------------------------ */

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
        close (supervisor->output); /* and it leaves epoll */
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
        else if (length < 0 && supervisor->complaints++ < COMPLAINTS)
            log_mark (&supervisor->log, "a message of the agent is not sent: %s", err.text);
    }
}

static void step_forward (struct supervisor *supervisor, int64_t now_us)
{
    int refused = supervisor->sender ? hint_sender_step (supervisor->sender, now_us) : 0;
    if (refused && supervisor->complaints++ < COMPLAINTS)
        log_mark (&supervisor->log, "the daemon refused hints of the agent: HTTP status %d",
                  refused);
}

static void take_signals (struct supervisor *supervisor, int64_t now_us)
{
    struct signalfd_siginfo signal;
    while (read (supervisor->signals, &signal, sizeof (signal)) == sizeof (signal))
        if (signal.ssi_signo != SIGCHLD)
            request_stop (supervisor, is_repeatable (signal.ssi_code, signal.ssi_int), now_us);
    reap (supervisor);
}

static int64_t earlier (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_ms (const struct supervisor *supervisor, int64_t now_us)
{
    int64_t due_us = INT64_MAX;
    if (supervisor->status.stopped || supervisor->killing)
        due_us = supervisor->kill_us;
    if (supervisor->relay_us > 0)
        due_us = earlier (due_us, supervisor->relay_us);
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
        epoll_wait (supervisor->epoll, events, 8, wait_ms (supervisor, clock_us (CLOCK_MONOTONIC)));
    int64_t now_us = clock_us (CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        switch ((enum tag)events[i].data.u64) {
        case TAG_SIGNALS:
            take_signals (supervisor, now_us);
            break;
        case TAG_REPORT:
            take_report (supervisor);
            break;
        case TAG_OUTPUT:
            take_output (supervisor);
            break;
        case TAG_AGENT:
            take_messages (supervisor);
            break;
        case TAG_FORWARD:
            break; /* below, also when time has come */
        }
    }
    step_forward (supervisor, now_us);
    advance (supervisor, now_us);
}

/* ---- The end ------------------------------------------------------------------------------ */

/* How the replica ended: its own end, or that of the one command of a shell that the stop signal
 * has ended.  A link that is not reaped here was by its parent, which died in the same moment: its
 * end was no different.  A command's success is not the shell's: that may have had more to do. */
static void judge (struct supervisor *supervisor)
{
    int wait_status = supervisor->wait_status;
    for (int i = 1; i < supervisor->chain_count && by_stop_signal (supervisor, wait_status); i++)
        if (supervisor->chain[i].reaped && supervisor->chain[i].wait_status != 0)
            wait_status = supervisor->chain[i].wait_status;
    if (!supervisor->status.started)
        return;
    supervisor->status.code = WIFEXITED (wait_status) ? WEXITSTATUS (wait_status) : 0;
    supervisor->status.signal = WIFSIGNALED (wait_status) ? WTERMSIG (wait_status) : 0;
}

/* Everyone who could write or speak is gone: take what they left, and let the last hints go. */
static void drain (struct supervisor *supervisor)
{
    while (take_output (supervisor))
        ;
    take_messages (supervisor);
    int64_t end_us = clock_us (CLOCK_MONOTONIC) + FLUSH_US;
    while (supervisor->sender && hint_sender_flush (supervisor->sender)) {
        struct epoll_event event;
        int64_t now_us = clock_us (CLOCK_MONOTONIC);
        if (now_us >= end_us)
            break;
        step_forward (supervisor, now_us);
        if (hint_sender_flush (supervisor->sender))
            epoll_wait (supervisor->epoll, &event, 1, 10);
    }
}

/* Until it is written, or someone wants us gone. */
static int tell_status (struct supervisor *supervisor, struct pollux_error *err)
{
    struct timespec pause = {.tv_nsec = STATUS_PAUSE_US * 1000};
    sigset_t signals;
    sigemptyset (&signals);
    sigaddset (&signals, SIGTERM);
    sigaddset (&signals, SIGINT);
    struct pollux_error why;
    fault_point ("run-status");
    while (run_write_status (&supervisor->run, &supervisor->status, &why) < 0) {
        siginfo_t signal;
        if (sigtimedwait (&signals, &signal, &pause) > 0 &&
            !is_repeatable (signal.si_code, signal.si_value.sival_int))
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
    log_close (&supervisor->log);
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++)
        if (files[i] >= 0)
            close (files[i]);
    agent_socket_remove (supervisor->info.socket);
    if (*supervisor->info.cgroup)
        rmdir (supervisor->info.cgroup);
    run_close (&supervisor->run);
}

/* A stop that came before there was anything to stop. */
static bool stop_is_pending (void)
{
    sigset_t pending;
    sigpending (&pending);
    return sigismember (&pending, SIGTERM) || sigismember (&pending, SIGINT);
}

/* Nothing was started: the status says why. */
static void not_started (struct supervisor *supervisor, int code, const char *why)
{
    supervisor->status = (struct run_status){
        .code = code, .stopped = code == 143, .at_us = clock_us (CLOCK_REALTIME)};
    snprintf (supervisor->status.why, sizeof (supervisor->status.why), "%s", why);
    log_mark (&supervisor->log, "%s", why);
}

static void live (struct supervisor *supervisor, char **extra)
{
    struct pollux_error err = {.text = ""};
    if (stop_is_pending ()) {
        sigset_t signals;
        struct timespec now = {0};
        wanted_signals (&signals);
        while (sigtimedwait (&signals, NULL, &now) > 0)
            ; /* this request is answered; another one would be about writing the status */
        not_started (supervisor, 143, "stopped before it was started");
        return;
    }
    int code = start (supervisor, extra, &err);
    if (code < 0 && supervisor->replica.pid == 0) {
        not_started (supervisor, 126, err.text);
        return;
    }
    if (code < 0)
        begin_killing (supervisor, 0); /* not without an eye on it */
    while (!supervisor->ended || !supervisor->alone)
        turn (supervisor);
    take_report (supervisor);
    judge (supervisor);
    drain (supervisor);
}

int supervisor_run (int root, const struct run_name *name,
                    const struct run_description *description, char **extra, struct run_status *ret,
                    struct pollux_error *err)
{
    struct supervisor *supervisor = calloc (1, sizeof (*supervisor));
    if (!supervisor)
        return fail (err, -ENOMEM, "not enough memory");
    supervisor->description = description;
    supervisor->run = (struct run){.generation = -1, .directory = -1, .lock = -1};
    supervisor->replica.report = supervisor->log.file = -1;
    supervisor->epoll = supervisor->signals = supervisor->output = supervisor->agent = -1;
    int code = open_loop (supervisor, err);
    if (code == 0)
        code = introduce (supervisor, name, err);
    if (code == 0)
        code = open_directory (supervisor, root, name, err);
    if (code == 0) {
        if (chdir ("/") < 0) /* keep no file system from being unmounted */
            log_mark (&supervisor->log, "/: %s", strerror (errno));
        live (supervisor, extra);
        code = tell_status (supervisor, err);
        *ret = supervisor->status;
    }
    close_all (supervisor);
    free (supervisor);
    return code;
}
