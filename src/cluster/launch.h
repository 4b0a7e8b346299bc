/* SPDX-License-Identifier: Apache-2.0 */
/* What runs: the part of a job that backends need and policies never look at. */
#ifndef CLUSTER_LAUNCH_H
#define CLUSTER_LAUNCH_H

#include "cluster/node.h"

enum launcher {
    LAUNCHER_ENV, /* one process per replica, told its rank by torchrun's variables */
    LAUNCHER_MPI, /* one mpirun, which starts the ranks */
};
enum { LAUNCHERS = LAUNCHER_MPI + 1 };
extern const char *const launcher_names[LAUNCHERS];

struct launch {
    char owner[NAME_SIZE];
    char **command;       /* NULL at the end */
    char **environment;   /* NAME=value, NULL at the end */
    char *directory;      /* absolute */
    char *checkpoint_dir; /* absolute; NULL: the backend's */
    enum launcher launcher;
    int stop_signal;
    double grace_s;   /* from the stop signal to SIGKILL */
    int max_failures; /* so many are forgiven */
    double backoff_s; /* before the start after a failure; doubles with each, up to a limit */
};

/* A copy that belongs to the caller (launch_free); NULL: no memory. */
struct launch *launch_copy (const struct launch *launch);
void launch_free (struct launch *launch);

/* How long to wait after the failures-th failure: backoff_s, twice that, and so on, at most
 * LAUNCH_BACKOFF_LIMIT. */
#define LAUNCH_BACKOFF_LIMIT 600.0
double launch_backoff (const struct launch *launch, int failures);

#endif
