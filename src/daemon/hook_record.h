/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hook runs, in a file of the state directory, for the next polluxd: if this one is killed, its hook goes on.  A grow that ends
 * after the next polluxd has returned the node would order it again, and nobody would know.
 */
#ifndef DAEMON_HOOK_RECORD_H
#define DAEMON_HOOK_RECORD_H

#include "pollux/pollux.h"

/* The hook of that kind, "grow" or "shrink", and of that number runs as this process, which leads its session; 0: it has ended. */
int hook_record_write (const char *state, const char *kind, int number, int pid,
                       struct pollux_error *err);

/* Kill the session of the hook of that kind and number that an earlier polluxd has left.  1: it was killed; 0: there was none, or
 * it ran before a reboot.  -EXDEV: it was started on another host that shares the directory; it is forgotten. */
int hook_record_kill (const char *state, const char *kind, int number, struct pollux_error *err);

#endif
