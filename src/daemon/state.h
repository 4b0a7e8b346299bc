/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory: the daemon's alone, in every sense.
 *
 *     journal.db     the journal (store/store.h)
 *     lock           locked as long as a daemon uses the directory
 *     address        where the daemon listens, for `pollux`
 *     pollux.sock    the same without TCP, for supervisors and `pollux`
 *     admin.token, tokens, job.key     (api/tokens.h)
 *     run/           replicas (backend/run.h)
 *     checkpoints/   of jobs that do not say where
 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include "pollux/pollux.h"

struct state {
    char *path; /* absolute */
    int lock;
};

/* For a daemon that starts as root and goes on as somebody else: make the directory, if it is
 * missing, for that user. */
int state_prepare (const char *path, unsigned uid, unsigned gid, struct pollux_error *err);

/* Make the directory if it is missing (0700, also its parents), check that it is ours and that
 * nobody else can write there, and lock it.  -EBUSY: another daemon has it. */
int state_open (const char *path, struct state *ret, struct pollux_error *err);
void state_close (struct state *state);

/* "STATE/name", the caller's (free); NULL: no memory. */
char *state_path (const struct state *state, const char *name);

/* The file is missing, or a regular one of ours.  -ELOOP for a link, -EPERM for somebody else's. */
int state_check (const struct state *state, const char *name, struct pollux_error *err);

/* Write a small file, 0600, whole or not at all. */
int state_write (const struct state *state, const char *name, const char *text,
                 struct pollux_error *err);

#endif
