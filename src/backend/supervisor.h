/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of one replica: `pollux exec`.  It outlives the daemon; its run directory
 * (backend/run.h) holds all that it knows.
 *
 *     SIGTERM, SIGINT    stop: the stop signal to the replica's process group, and after the grace
 *                        SIGKILL to all processes of the run.  A second one: SIGKILL now.
 *                        run_stop sends a SIGTERM that has no effect after the first.
 *
 * When the replica has ended, what it left behind is killed; when no process of the run is left,
 * the status is written.  If the stop signal killed a shell wrapper, the status of its only child
 * counts, unless it is 0; the processes of such a wrapper get the grace, too.
 */
#ifndef BACKEND_SUPERVISOR_H
#define BACKEND_SUPERVISOR_H

#include "backend/run.h"

/* Call it first: closes all descriptors above 2, opens 0 to 2 if they are closed, and blocks
 * signals, so that none is missed. */
int supervisor_prepare (struct pollux_error *err);

/* Run a description to its end.  extra: further variables, NULL at the end; or NULL.  On success
 * *ret is the status that was written.  -EIO: the replica has ended with *ret, but a signal asked to
 * give up writing the status.  All other failures: nothing was started; -EEXIST: this run was
 * started before. */
int supervisor_run (int root, const struct run_name *name,
                    const struct run_description *description, char **extra, struct run_status *ret,
                    struct pollux_error *err);

#endif
