/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisors of a share: the replicas of one generation on one node, as children of one process.
 * It is what Slurm starts on a node.
 */
#ifndef BACKEND_SUPERVISOR_SHARE_H
#define BACKEND_SUPERVISOR_SHARE_H

#include "pollux/pollux.h"

/* Call `run` in one child per index 0..count-1 and wait for all of them; what it returns, 0..255, is
 * the child's exit code.  Call supervisor_prepare before.
 *
 * SIGTERM, SIGINT and SIGURG to this process are passed on as requests to stop that count once.  The
 * children die with this process.  If one is killed, the processes that it left are killed, too.
 *
 * *ret: 0 if all children ended with 0, otherwise the exit code of the first that did not, or 128 plus
 * the signal that killed it.  A failure: not all could be started; the others were stopped. */
int supervisor_share (int count, int (*run) (void *self, int index), void *self, int *ret,
                      struct pollux_error *err);

#endif
