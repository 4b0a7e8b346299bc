/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of one replica: `pollux exec`.  It outlives the daemon; its run directory
 * (backend/run.h) holds all that it knows.
 *
 *     SIGTERM, SIGINT    stop: the stop signal to the replica's process group, and after the grace
 *                        SIGKILL to all processes of the run.  A second one: SIGKILL now, unless
 *                        the options say otherwise.
 *                        run_stop sends a SIGTERM that has no effect after the first.
 *     SIGURG             the same stop; only the first has an effect.
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

struct supervisor_options {
    char **extra; /* further variables of the replica, NULL at the end; or NULL */
    /* Slurm signals every process of a step, also the replica, and repeatedly.  So every signal is
     * the same request to stop, and a replica that ends by SIGTERM or with 143 less than a second
     * before the first one counts as stopped. */
    bool in_step;
    bool mpi;     /* mpirun starts a proxy of this rank: see mpirun.h */
    int guardian; /* the pid of the parent if that is a guardian (supervisor_share.h); 0: none */
};

/* Run a description to its end.  On success *ret is the status that was written.  -EIO: the replica
 * has ended with *ret, but a signal asked to give up writing the status.  All other failures: nothing
 * was started; -EEXIST: this run was started before. */
int supervisor_run (int root, const struct run_name *name,
                    const struct run_description *description,
                    const struct supervisor_options *options, struct run_status *ret,
                    struct pollux_error *err);

/* The process that mpirun starts in place of a replica: hand these variables, NULL at the end, to the supervisor of the rank,
 * and wait for the end of the replica, of the supervisor or of mpirun.  Call supervisor_prepare before. */
int supervisor_mpi_proxy (int root, const struct run_name *name, char *const *variables,
                          struct pollux_error *err);

#endif
