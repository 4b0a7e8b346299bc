/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of this machine: who they are, and killing all that belong to a run.
 */
#ifndef BACKEND_PROCESS_H
#define BACKEND_PROCESS_H

#include <stdbool.h>

#include "wire/run.h"

/* This boot's id. */
int process_boot (char ret[RUN_BOOT_SIZE], struct pollux_error *err);

/* Identify a living process, a zombie too.  -ESRCH if there is none. */
int process_identify (int pid, struct run_process *ret, struct pollux_error *err);

/* A pidfd of exactly this process of that boot, the caller's (close).  -ESRCH if it is gone, also
 * if another one has its number. */
int process_open (const struct run_process *process, const char *boot, int *ret,
                  struct pollux_error *err);

/* Whose processes to kill. */
struct process_tree {
    const char *id;     /* all that have POLLUX_RUN=id in their environment; NULL: none */
    int session, group; /* all in both of these; 0: none */
    int ancestor;       /* all that descend from this one, which itself is spared; 0: none */
    const char *cgroup; /* all in it; NULL or "": none */
};

/* One pass: a signal to all of them and their descendants, except this process.  Returns how many
 * live ones it found (zombies do not count), or a negative errno value.  Processes of other users
 * that may not be signalled count, too. */
int process_signal_tree (const struct process_tree *tree, int signal, struct pollux_error *err);

/* A process, its only child, the only child of that one, and so on as long as there is exactly
 * one, in its process group: a shell and what it wraps.  Returns how many pids it wrote, 0..limit. */
int process_chain (int pid, int *ret, int limit);

/* Would this signal end the process: is it neither handled nor ignored nor held back?  False also
 * if there is no such process. */
bool process_dies_by (int pid, int signal);

#endif
