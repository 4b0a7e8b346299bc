/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of one replica: `pollux exec`.  It outlives the daemon; what it knows is in its
 * run directory (backend/run.h).
 *
 *     SIGTERM, SIGINT    stop: the stop signal to the replica's process group; SIGKILL to the whole
 *                        tree after the grace.  A second one: SIGKILL now, but for those of
 *                        run_stop, which are one however often they come.
 *
 * When the replica has ended, what it left behind is killed, and the status is written when no
 * process of the run is left.  A replica that the stop signal itself has ended may be a shell whose
 * command is still busy: then the others have their grace, too, and if the shell had exactly one
 * child, that one's end is the replica's, unless it was a success: the shell might have gone on.
 */
#ifndef BACKEND_SUPERVISOR_H
#define BACKEND_SUPERVISOR_H

#include "backend/run.h"

/* First of all: close what was inherited, but for the standard three, which are opened if they are
 * not, and hold back signals, so that none is missed. */
int supervisor_prepare (struct pollux_error *err);

/* Run a description to its end.  extra: variables besides its environment, NULL at the end, or
 * NULL.  On success *ret is the status, which has been written; or -EIO: the replica has ended with
 * *ret, but its status could not be written before a stop was requested (also again).  All other
 * failures: nothing was started; -EEXIST if it was started before. */
int supervisor_run (int root, const struct run_name *name,
                    const struct run_description *description, char **extra, struct run_status *ret,
                    struct pollux_error *err);

#endif
