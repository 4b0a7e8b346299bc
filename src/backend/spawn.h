/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_SPAWN_H
#define BACKEND_SPAWN_H

#include <stddef.h>

#include "pollux/pollux.h"

/* A supervisor: a child of this process in its own session, so that it outlives this process. */
struct spawned {
    int pidfd;
    int error; /* a file with what it writes to its standard error before it has a log */
};

/* Start a program with this text as its standard input, one variable NAME=value as its environment, and
 * all signals blocked, so that none is missed before it handles them.  Both descriptors of *ret are the caller's.  Returns
 * after the exec. */
int spawn (char *const *words, const char *variable, const char *text, size_t length,
           struct spawned *ret, struct pollux_error *err);

/* A file in memory with this text, to be read from its start: its descriptor, the caller's (close), or
 * -errno. */
int spawn_memory_file (const char *name, const char *text, size_t length);

/* Reap a child by its pidfd if it has ended: 1 and its wait status; 0 if it lives; -ECHILD if it is
 * not a child of this process. */
int spawn_reap (int pidfd, int *ret_status);

#endif
