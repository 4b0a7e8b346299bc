/* SPDX-License-Identifier: Apache-2.0 */
/* What the run_*.c files share: opening run directories, and the names of their files. */
#ifndef BACKEND_RUN_OPEN_H
#define BACKEND_RUN_OPEN_H

#include "backend/run.h"

#define RUN_LOCK "lock"
#define RUN_INFO "info"
#define RUN_REPLICA "replica"
#define RUN_STATUS "status"
#define RUN_MPIRUN "mpirun"

/* Open JOB/GENERATION, and JOB/GENERATION/RANK.  -ENOENT if it does not exist. */
int run_open_generation (int root, const char *job, int generation, int *ret,
                         struct pollux_error *err);
int run_open_directory (int root, const struct run_name *name, int *ret, struct pollux_error *err);

#endif
