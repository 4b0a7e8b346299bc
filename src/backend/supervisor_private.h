/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the supervisor share.
 *
 *     supervisor.c        the event loop, from the run directory to the status
 *     supervisor_start.c  before the replica: identity, run directory, environment; its start
 *     supervisor_stop.c   stop signal, grace, SIGKILL, reaping, and the exit status that counts
 */
#ifndef BACKEND_SUPERVISOR_PRIVATE_H
#define BACKEND_SUPERVISOR_PRIVATE_H

#include <signal.h>

#include "backend/hint_sender.h"
#include "backend/log.h"
#include "backend/replica.h"
#include "backend/run.h"

#define SECOND_US INT64_C (1000000)

/* Shells in shells. */
enum { CHAIN = 16 };

/* A process of the chain: a shell, its only child, and so on, as of the stop request. */
struct link {
    int pid, wait_status;
    bool reaped;
};

/* Of descriptors in epoll. */
enum tag { TAG_SIGNALS, TAG_REPORT, TAG_OUTPUT, TAG_AGENT, TAG_SENDER };

struct supervisor {
    const struct run_description *description;
    struct run run;
    struct run_info info;
    struct run_status status;
    struct replica replica;
    struct log log;
    struct hint_sender *sender; /* NULL: hints go nowhere */
    int epoll, signals, output, agent;
    int warnings;                   /* in the log, about messages of the agent */
    int wait_status;                /* of the replica */
    bool ended;                     /* the replica; other processes may be left */
    bool no_children;               /* no process of the run is left */
    bool killing;                   /* SIGKILL to all that is left */
    int64_t kill_us, kill_pause_us; /* when to send SIGKILL, first or again */
    struct link chain[CHAIN];
    int chain_count;
    int relayed;      /* processes of the chain that got the stop signal one by one */
    int64_t relay_us; /* when all get it at the latest; 0: they did, or no stop so far */
};

/* ---- supervisor_start.c ---- */

/* The signals that the supervisor handles: SIGTERM, SIGINT, SIGCHLD. */
void supervisor_signals (sigset_t *ret);
/* Add a descriptor to epoll. */
int supervisor_watch (const struct supervisor *supervisor, int file, enum tag tag,
                      struct pollux_error *err);
/* Set the identity of the run (name, boot, process) and become a subreaper. */
int supervisor_identify (struct supervisor *supervisor, const struct run_name *name,
                         struct pollux_error *err);
/* Make the run directory with all that is in it, and publish it. */
int supervisor_open_run (struct supervisor *supervisor, int root, const struct run_name *name,
                         struct pollux_error *err);
/* Start the replica.  On failure its pid is 0, or it runs but is not watched. */
int supervisor_start (struct supervisor *supervisor, char **extra, struct pollux_error *err);
/* The command runs, or does not: write that down, once. */
void supervisor_take_report (struct supervisor *supervisor);

/* ---- supervisor_stop.c ---- */

/* Does a signal come from run_stop?  Of these only the first counts. */
bool supervisor_is_run_stop (int code, int value);
void supervisor_request_stop (struct supervisor *supervisor, bool run_stop, int64_t now_us);
/* Begin to send SIGKILL to all processes of the run. */
void supervisor_begin_killing (struct supervisor *supervisor, int64_t now_us);
/* Take the wait status of every child that has ended. */
void supervisor_reap (struct supervisor *supervisor);
/* Send the signals that are due. */
void supervisor_advance_stop (struct supervisor *supervisor, int64_t now_us);
/* The time of the next signal; INT64_MAX: none. */
int64_t supervisor_stop_due_us (const struct supervisor *supervisor);
/* Set the exit code or signal in the status. */
void supervisor_judge (struct supervisor *supervisor);

#endif
