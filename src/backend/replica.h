/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_REPLICA_H
#define BACKEND_REPLICA_H

#include "wire/run.h"

/* A process that is being started. */
struct replica {
    int pid;
    int report; /* a descriptor that ends when the command runs, or tells why it does not */
};

/* Start a description's command as a child with exactly this environment, in its directory and a
 * process group of its own, on its CPUs, with default signals, nothing on the standard input, and
 * output as the other two.  It dies with this process.  cgroup: an open cgroup.procs to join, or
 * -1. */
int replica_start (const struct run_description *description, char **environment, int output,
                   int cgroup, struct replica *ret, struct pollux_error *err);

/* After the report has ended, or its process: 0 if the command was run; otherwise 127 or 126, as a
 * shell has it, and a sentence.  Closes the report. */
int replica_report (struct replica *replica, const struct run_description *description,
                    char why[RUN_WHY_SIZE]);

#endif
