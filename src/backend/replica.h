/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_REPLICA_H
#define BACKEND_REPLICA_H

#include "wire/run.h"

/* A replica that is being started. */
struct replica {
    int pid;
    int report; /* a descriptor with the failure of the exec; empty if the command runs */
};

/* Start a description's command as a child with exactly this environment, in its directory, in its
 * own process group, on its CPUs, with default signals, /dev/null as standard input, and `output` as
 * standard output and error.  It dies with this process.  cgroup: an open cgroup.procs to join, or
 * -1. */
int replica_start (const struct run_description *description, char **environment, int output,
                   int cgroup, struct replica *ret, struct pollux_error *err);

/* When the report or the process has ended: 0 if the command was run; otherwise 127 or 126, as in a
 * shell, and a sentence.  Closes the report. */
int replica_report (struct replica *replica, const struct run_description *description,
                    char why[RUN_WHY_SIZE]);

#endif
