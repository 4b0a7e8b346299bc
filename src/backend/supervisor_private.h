/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the supervisor share.
 *
 *     supervisor.c        the event loop, from the run directory to the status
 *     supervisor_start.c  before the replica: identity, run directory, environment; its start
 *     supervisor_node.c   what depends on the node: MASTER_PORT, CUDA_VISIBLE_DEVICES
 *     supervisor_mpi.c    a rank that mpirun does not start itself: its proxy
 *     supervisor_stop.c   stop signal, grace, SIGKILL, reaping, and the exit status that counts
 */
#ifndef BACKEND_SUPERVISOR_PRIVATE_H
#define BACKEND_SUPERVISOR_PRIVATE_H

#include <signal.h>

#include "backend/hint_sender.h"
#include "backend/log.h"
#include "backend/replica.h"
#include "backend/run.h"
#include "backend/supervisor.h"
#include "munge/worker.h"

#define SECOND_US INT64_C (1000000)

/* Shells in shells. */
enum { CHAIN = 16 };

/* A process of the chain: a shell, its only child, and so on, as of the stop request. */
struct link {
    int pid, wait_status;
    bool reaped;
};

/* Of descriptors in epoll. */
enum tag { TAG_SIGNALS, TAG_REPORT, TAG_OUTPUT, TAG_AGENT, TAG_SENDER, TAG_MPI };

struct supervisor {
    const struct run_description *description;
    const struct supervisor_options *options;
    int root; /* borrowed */
    struct run_name name;
    struct run run;
    struct run_info info;
    struct run_status status;
    struct replica replica;
    struct log log;
    struct hint_sender *sender; /* NULL: hints are not sent */
    struct munge_worker *munge; /* signs them; NULL: they have a token or nothing */
    int epoll, signals, output, agent;
    int warnings;            /* in the log, about messages of the agent */
    char *node_variables[3]; /* supervisor_node.c; NULL at the end */
    struct {
        int proxy, parent;          /* pidfds: of the proxy, and of what started it; -1: none */
        char *text, **variables;    /* of MPI, NULL at the end; NULL: none */
        int64_t lost_us;            /* when the proxy ended before the replica; 0: not */
    } mpi;                          /* supervisor_mpi.c */
    int wait_status;                /* of the replica */
    int64_t ended_us;               /* when it ended; monotonic */
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

/* The signals that the supervisor handles: those that ask it to stop (SIGTERM, SIGINT, SIGURG), and
 * SIGCHLD. */
void supervisor_stop_signals (sigset_t *ret);
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
int supervisor_start (struct supervisor *supervisor, struct pollux_error *err);
/* The command runs, or does not: write that down, once. */
void supervisor_take_report (struct supervisor *supervisor);

/* ---- supervisor_node.c ---- */

/* Set node_variables.  It waits for the port that another node chooses.  -ECANCELED: a stop came
 * meanwhile; -ETIMEDOUT: the port did not come. */
int supervisor_find_node_variables (struct supervisor *supervisor, struct pollux_error *err);
/* CUDA_VISIBLE_DEVICES of a replica, the caller's (free): the items of `visible` at these positions;
 * if that is NULL, the positions themselves.  -EINVAL: there are fewer items. */
int supervisor_devices (const struct run_list *devices, const char *visible, char **ret,
                        struct pollux_error *err);

/* Write a file atomically, if there is none of that name.  -EEXIST: there is one. */
int supervisor_write_once (int directory, const char *file, const char *text, size_t length,
                           struct pollux_error *err);

/* ---- supervisor_mpi.c ---- */

/* Wait for the proxy of this rank, and set mpi.  -ECANCELED: a stop came meanwhile; other failures: mpirun does not start it. */
int supervisor_find_mpi (struct supervisor *supervisor, struct pollux_error *err);
/* The proxy has ended. */
void supervisor_mpi_lost (struct supervisor *supervisor, int64_t now_us);
/* The replica has ended: so does its proxy. */
void supervisor_mpi_ended (const struct supervisor *supervisor);
/* Wait until the parent of the proxy has ended, and free all. */
void supervisor_mpi_close (struct supervisor *supervisor);

/* ---- supervisor_stop.c ---- */

/* Has a signal to stop no effect after the first one? */
bool supervisor_stops_once (const struct supervisor *supervisor, int signal, int code, int value);
void supervisor_request_stop (struct supervisor *supervisor, bool once, int64_t now_us);
/* Has the replica ended as if a stop had been requested, so that a stop which comes now counts? */
bool supervisor_awaits_stop (const struct supervisor *supervisor, int64_t now_us);
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
