/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run ends: the stop protocol, reaping, and the exit status that counts.
 *
 *     replica runs --stop--> stopping (grace) --+
 *          |                                    v
 *          +--ends-------------------------> killing, until no child is left
 */
#define _GNU_SOURCE
#include "backend/supervisor_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/process.h"
#include "base/clock.h"

/* Between passes of SIGKILL, doubling. */
#define KILL_PAUSE_US (SECOND_US / 100)
#define KILL_PAUSE_LIMIT_US SECOND_US
/* A shell that the stop signal kills is gone by then. */
#define RELAY_US SECOND_US
/* Between the signals of Slurm to a replica and to its supervisor. */
#define LATE_STOP_US SECOND_US

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
    kill (pid, SIGCONT); /* a halted process takes no other signal */
}

/* Send the stop signal to the process group.  Before that, shells that it kills get it one by one:
 * when a shell has died, its command becomes a child of this process, which then sees the command's
 * exit status.  If both got the signal at once, the shell could reap its command just before it
 * dies. */
static void relay_stop (struct supervisor *supervisor, int64_t now_us)
{
    const struct link *chain = supervisor->chain;
    int at = supervisor->relayed;
    if (supervisor->relay_us == 0)
        return;
    if (now_us < supervisor->relay_us) {
        if (at > 0 && !chain[at - 1].reaped)
            return;
        if (at + 1 < supervisor->chain_count &&
            process_dies_by (chain[at].pid, supervisor->description->stop_signal)) {
            supervisor->relayed++;
            send_stop (supervisor, chain[at].pid);
            return;
        }
    }
    supervisor->relay_us = 0;
    send_stop (supervisor, -supervisor->replica.pid);
}

void supervisor_begin_killing (struct supervisor *supervisor, int64_t now_us)
{
    if (supervisor->killing)
        return;
    supervisor->killing = true;
    supervisor->kill_us = now_us;
    supervisor->kill_pause_us = KILL_PAUSE_US;
}

bool supervisor_stops_once (const struct supervisor *supervisor, int signal, int code, int value)
{
    return supervisor->options->in_step || signal == SIGURG ||
           (code == SI_QUEUE && value == RUN_STOP_VALUE);
}

/* Slurm's SIGTERM ends mpirun, too, and then the replica fails by itself: by its exit status it is not known which of both came
 * first. */
static bool ended_as_stopped (const struct supervisor *supervisor)
{
    int status = supervisor->wait_status;
    return (WIFSIGNALED (status) && WTERMSIG (status) == SIGTERM) ||
           (WIFEXITED (status) && WEXITSTATUS (status) == 128 + SIGTERM) ||
           (supervisor->options->mpi && status != 0);
}

bool supervisor_awaits_stop (const struct supervisor *supervisor, int64_t now_us)
{
    return supervisor->options->in_step && supervisor->ended && !supervisor->status.stopped &&
           now_us < supervisor->ended_us + LATE_STOP_US && ended_as_stopped (supervisor);
}

void supervisor_request_stop (struct supervisor *supervisor, bool once, int64_t now_us)
{
    int64_t grace_us = (int64_t)(supervisor->description->grace_s * (double)SECOND_US);
    if (supervisor->ended && !supervisor->status.stopped) {
        if (supervisor_awaits_stop (supervisor, now_us)) {
            supervisor->status.stopped = true;
            supervisor->kill_us = now_us + grace_us; /* for what a shell wrapper left */
        }
        return; /* otherwise it ended by itself, and what it left is being killed */
    }
    if (supervisor->status.stopped && once)
        return;
    if (supervisor->status.stopped) {
        supervisor->status.killed |= !supervisor->killing;
        supervisor_begin_killing (supervisor, now_us);
        return;
    }
    supervisor->status.stopped = true;
    note_chain (supervisor);
    supervisor->relay_us = now_us + RELAY_US;
    relay_stop (supervisor, now_us);
    supervisor->kill_us = now_us + grace_us;
}

static bool by_stop_signal (const struct supervisor *supervisor, int wait_status)
{
    return supervisor->status.stopped && WIFSIGNALED (wait_status) &&
           WTERMSIG (wait_status) == supervisor->description->stop_signal;
}

void supervisor_reap (struct supervisor *supervisor)
{
    int pid, wait_status;
    while ((pid = waitpid (-1, &wait_status, WNOHANG | __WALL)) > 0) {
        if (pid == supervisor->replica.pid) {
            supervisor->ended = true;
            supervisor->wait_status = wait_status;
            supervisor->status.at_us = clock_wall_us ();
            supervisor->ended_us = clock_monotonic_us ();
        }
        for (int i = 0; i < supervisor->chain_count; i++) {
            if (supervisor->chain[i].pid == pid && !supervisor->chain[i].reaped)
                supervisor->chain[i] =
                    (struct link){.pid = pid, .wait_status = wait_status, .reaped = true};
        }
    }
    supervisor->no_children = pid < 0 && errno == ECHILD;
}

void supervisor_advance_stop (struct supervisor *supervisor, int64_t now_us)
{
    relay_stop (supervisor, now_us);
    if (supervisor->ended && !by_stop_signal (supervisor, supervisor->wait_status) &&
        !supervisor_awaits_stop (supervisor, now_us))
        supervisor_begin_killing (supervisor, now_us);
    if (!supervisor->killing && supervisor->status.stopped && now_us >= supervisor->kill_us) {
        supervisor->status.killed = true;
        supervisor_begin_killing (supervisor, now_us);
    }
    if (supervisor->mpi.lost_us > 0 && !supervisor->status.stopped &&
        now_us >= supervisor->mpi.lost_us + LATE_STOP_US)
        supervisor_begin_killing (supervisor, now_us);
    if (!supervisor->killing || supervisor->no_children || now_us < supervisor->kill_us)
        return;
    struct process_tree tree = {.ancestor = getpid (), .cgroup = supervisor->info.cgroup};
    process_signal_tree (&tree, SIGKILL, NULL); /* what it missed, the next pass finds */
    supervisor->kill_us = now_us + supervisor->kill_pause_us;
    if (supervisor->kill_pause_us < KILL_PAUSE_LIMIT_US)
        supervisor->kill_pause_us *= 2;
}

int64_t supervisor_stop_due_us (const struct supervisor *supervisor)
{
    int64_t due_us = INT64_MAX;
    if (supervisor->status.stopped || supervisor->killing)
        due_us = supervisor->kill_us;
    else if (supervisor->ended)
        due_us = supervisor->ended_us + LATE_STOP_US;
    else if (supervisor->mpi.lost_us > 0)
        due_us = supervisor->mpi.lost_us + LATE_STOP_US;
    if (supervisor->relay_us > 0 && supervisor->relay_us < due_us)
        due_us = supervisor->relay_us;
    return due_us;
}

/* ---- The exit status ---------------------------------------------------------------------- */

/* If the stop signal killed a shell wrapper, the status of its only child counts, unless it is 0:
 * the shell might have had more commands.  A link that was not reaped here was reaped by its
 * parent, which the signal killed at the same moment; it is skipped. */
void supervisor_judge (struct supervisor *supervisor)
{
    int wait_status = supervisor->wait_status;
    for (int i = 1; i < supervisor->chain_count && by_stop_signal (supervisor, wait_status); i++)
        if (supervisor->chain[i].reaped && supervisor->chain[i].wait_status != 0)
            wait_status = supervisor->chain[i].wait_status;
    if (!supervisor->status.started)
        return;
    supervisor->status.code = WIFEXITED (wait_status) ? WEXITSTATUS (wait_status) : 0;
    supervisor->status.signal = WIFSIGNALED (wait_status) ? WTERMSIG (wait_status) : 0;
    if (supervisor->mpi.lost_us > 0 && wait_status != 0 && !supervisor->status.stopped)
        snprintf (supervisor->status.why, sizeof (supervisor->status.why),
                  "mpirun ended it; the replica ended with %s %d",
                  supervisor->status.signal ? "signal" : "exit code",
                  supervisor->status.signal ? supervisor->status.signal : supervisor->status.code);
}
