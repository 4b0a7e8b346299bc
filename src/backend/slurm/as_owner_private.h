/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the root process share.
 *
 *     as_owner.c         the root process: one child per request, deadlines, answers
 *     as_owner_child.c   the child: what each request does
 *     become_owner.c     the change of the user
 *     owner_client.c     polluxd's side
 *     owner_message.c    messages
 */
#ifndef BACKEND_SLURM_AS_OWNER_PRIVATE_H
#define BACKEND_SLURM_AS_OWNER_PRIVATE_H

#include "backend/slurm/as_owner.h"

/* The exit code of a child that failed before it ran a command.  Its standard error has the negative
 * error code, a space and a sentence. */
enum { CHILD_FAILED = 254 };

/* Do what a message asks, in a child of the root process; ends the process.  Standard output is a
 * socket, which a piece of a log is sent through; standard error is a pipe. */
_Noreturn void owner_child_run (const struct owner_helper_options *options, const uint8_t *message,
                                size_t length, int payload);

/* Look the owner up, refuse uids that must not be served, and become them for good: groups, gid, uid,
 * umask, no new privileges.  The process ends with its parent, and has no way back. */
int become_owner (const char *name, unsigned min_uid, struct owner_account *ret,
                  struct pollux_error *err);

/* Send or receive bytes with at most one file descriptor; -1: none.  Further ones that arrive are closed. */
ssize_t owner_socket_send (int socket, const void *data, size_t length, int file);
/* Is it the errno of a send that may succeed later? */
bool owner_socket_is_full (int error);
ssize_t owner_socket_receive (int socket, void *data, size_t size, int *ret_file);

#endif
