/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes above supervisors.
 *
 * The supervisors of a share: the replicas of one generation on one node, as children of one process.
 * It is what Slurm starts on a node.
 *
 * A guardian: the parent of one supervisor, where there is no share.
 */
#ifndef BACKEND_SUPERVISOR_SHARE_H
#define BACKEND_SUPERVISOR_SHARE_H

#include "pollux/pollux.h"

/* Call `run` in one child per index 0..count-1 and wait for all of them; what it returns, 0..255, is
 * the child's exit code.  Call supervisor_prepare before.
 *
 * SIGTERM, SIGINT and SIGURG to this process are passed on as requests to stop that count once.  The
 * children die with this process.  If one is killed, the processes that it left are killed, too, and
 * the others are asked to stop.
 *
 * *ret: 0 if all children ended with 0, otherwise the exit code of the first that did not, or 128 plus
 * the signal that killed it.  A failure: not all could be started; the others were stopped. */
int supervisor_share (int count, int (*run) (void *self, int index), void *self, int *ret,
                      struct pollux_error *err);

/* Fork a child that goes on as a supervisor: there it returns 0, and *ret is the pid of the guardian.
 * In this process, the guardian, it returns 1 when the child and all that it left has ended, and *ret
 * is its exit code.  Signals to the guardian are passed on as they are.
 *
 * If the supervisor is killed, the guardian kills all processes of the run, also those in other
 * sessions and without their environment, and then itself with SIGKILL.  If the guardian is killed,
 * the supervisor goes on. */
int supervisor_guard (int *ret, struct pollux_error *err);

#endif
