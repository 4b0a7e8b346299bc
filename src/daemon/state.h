/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory.  Only polluxd's user can enter it, and only one daemon uses it at a time.
 *
 *     journal.db     the journal (store/store.h)
 *     lock           locked as long as a daemon uses the directory
 *     epochs/        instead of both, if several hosts share the directory (daemon/epoch.h)
 *     address        where the daemon listens, for `pollux`
 *     hook.grow, hook.shrink     which hook runs (daemon/hook_record.h)
 *     live           how many jobs had not ended when a daemon in an allocation ended
 *     pollux.sock    the Unix socket of the HTTP server, for supervisors and `pollux`
 *     admin.token, tokens, job.key     (api/tokens.h)
 *     run/           replicas (backend/run.h)
 *     checkpoints/   of jobs without a checkpoint directory of their own
 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include "daemon/epoch.h"

struct state {
    char *path; /* absolute */
    int lock;   /* -1: the directory is shared */
    struct epoch epoch;
};

/* For a daemon that starts as root and continues as another user: make the directory for that user, if it is missing.
 * One of root that is empty is given to the user, unless other users may have put it there; links are not followed
 * to it then.  -EPERM: it is root's, and is not given away. */
int state_prepare (const char *path, unsigned uid, unsigned gid, struct pollux_error *err);

/* Make the directory if it is missing (0700; missing parents: 0755), check that it belongs to this user
 * and that no other user can enter it.  Then lock it; or, if several hosts share it, claim its next epoch:
 * a daemon that uses it then ends.  -EBUSY: another daemon uses it, or it is shared and was opened
 * otherwise; EPOCH_LOST: another daemon claimed it at the same moment. */
int state_open (const char *path, bool shared, struct state *ret, struct pollux_error *err);
void state_close (struct state *state);

/* "STATE/name"; the caller frees it; NULL: no memory. */
char *state_path (const struct state *state, const char *name);

/* Check that the file is missing, or is a regular file of this user.  -ELOOP: a link; -EPERM: it belongs
 * to another user. */
int state_check (const struct state *state, const char *name, struct pollux_error *err);

/* Write a small file with mode 0600, atomically. */
int state_write (const struct state *state, const char *name, const char *text,
                 struct pollux_error *err);

#endif
