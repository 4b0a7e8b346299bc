/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of this machine: their identity, and signalling all that belong to a run.
 */
#ifndef BACKEND_PROCESS_H
#define BACKEND_PROCESS_H

#include <stdbool.h>

#include "wire/run.h"

/* This boot's id. */
int process_boot (char ret[RUN_BOOT_SIZE], struct pollux_error *err);

/* The identity of a process, which may be a zombie.  -ESRCH if there is none. */
int process_identify (int pid, struct run_process *ret, struct pollux_error *err);

/* A pidfd of this process of that boot, the caller's (close).  -ESRCH if it is gone, also if another
 * process has its pid now. */
int process_open (const struct run_process *process, const char *boot, int *ret,
                  struct pollux_error *err);

/* The pid of a pidfd; 0 if it has ended, or if /proc does not say. */
int process_of_pidfd (int pidfd);

/* True if a signal has halted the process, so that it takes no other signal before SIGCONT.  Do not send
 * SIGCONT to other processes: it cancels a SIGSTOP on its way, for which a debugger, or the leak check of
 * a sanitizer at exit, then waits for ever. */
bool process_is_halted (int pid);

/* Processes to signal: the union of these, and their descendants. */
struct process_tree {
    const char *id;     /* with POLLUX_RUN=id in their environment; NULL: none */
    const char *family; /* with POLLUX_RUN=family.* or POLLUX_SUPERVISOR=family; NULL: none */
    int session, group; /* in both of these; 0: none */
    int ancestor;       /* descendants of this process, without itself; 0: none */
    const char *cgroup; /* in this cgroup; NULL or "": none */
    /* Of the descendants of `ancestor`, not these and what descends from them. */
    const int *spared;
    int spared_count;
};

/* One pass: send a signal (0: none) to all of them but this process.  Returns the number of live ones found
 * (without zombies; with those of other users that cannot be signalled), or -errno. */
int process_signal_tree (const struct process_tree *tree, int signal, struct pollux_error *err);

/* Processes of runs that this user may see, by their environment: POLLUX_SUPERVISOR=FAMILY, if that is
 * not inherited from a living parent, or POLLUX_RUN=FAMILY.NUMBER. */
struct process_of_run {
    char family[RUN_ID_SIZE];
    bool supervisor;
    struct run_process process;
};
/* *ret is the caller's (free). */
int process_list_runs (struct process_of_run **ret, int *ret_count, struct pollux_error *err);

/* A process, its only child in its process group, the only child of that one, and so on: a shell
 * and what it wraps.  Returns the number of pids written, 0..limit. */
int process_chain (int pid, int *ret, int limit);

/* Would this signal kill the process: is it neither handled nor ignored nor blocked?  False if there
 * is no such process. */
bool process_dies_by (int pid, int signal);

#endif
