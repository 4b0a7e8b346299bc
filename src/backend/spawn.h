/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_SPAWN_H
#define BACKEND_SPAWN_H

#include <stddef.h>

#include "pollux/pollux.h"

/* A supervisor that was started: our child, but in a session of its own, so that it outlives us. */
struct spawned {
    int pidfd;
    int error; /* a file with what it writes to its standard error before it has a log */
};

/* Start a program with this text as its standard input, an empty environment, and all signals held
 * back until it wants them, so that one sent at once is not missed.  Both descriptors are the
 * caller's.  Does not wait for anything but the program's being there. */
int spawn (char *const *words, const char *text, size_t length, struct spawned *ret,
           struct pollux_error *err);

/* Whether a child has ended, by its pidfd: 1 and its wait status, which is taken; 0 if it lives;
 * -ECHILD if it is not ours. */
int spawn_reap (int pidfd, int *ret_status);

#endif
