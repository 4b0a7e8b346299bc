/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a job: what backends need and policies do not use. */
#ifndef CLUSTER_LAUNCH_H
#define CLUSTER_LAUNCH_H

#include <stdint.h>

#include "cluster/node.h"

enum launcher {
    LAUNCHER_ENV, /* one process per replica; torchrun's environment variables give its rank */
    LAUNCHER_MPI, /* one mpirun, which starts the ranks */
};
enum { LAUNCHERS = LAUNCHER_MPI + 1 };
extern const char *const launcher_names[LAUNCHERS];

/* What a job asks of Slurm; other backends do not use it.  "" and 0: not given. */
struct slurm_request {
    char account[NAME_SIZE], qos[NAME_SIZE], partition[NAME_SIZE];
    int time_limit_min; /* of one generation */
    int cpus;           /* per replica */
    int64_t memory_mb;  /* per replica, MiB */
};

struct launch {
    char owner[NAME_SIZE];
    char **command;       /* at least one word; NULL at the end */
    char **environment;   /* NAME=value, NULL at the end */
    char *directory;      /* absolute */
    char *checkpoint_dir; /* absolute; NULL: chosen by the backend */
    enum launcher launcher;
    int stop_signal;
    double grace_s;   /* seconds from the stop signal to SIGKILL */
    int max_failures; /* the job fails with the next failure after these */
    double backoff_s; /* back-off after the first failure, in seconds (launch_backoff) */
    struct slurm_request slurm;
};

/* A copy, which the caller owns (launch_free).  NULL: no memory. */
struct launch *launch_copy (const struct launch *launch);
void launch_free (struct launch *launch);

/* Seconds to wait after failure number `failures`: backoff_s x 2^(failures-1), at most
 * LAUNCH_BACKOFF_LIMIT. */
#define LAUNCH_BACKOFF_LIMIT 600.0
double launch_backoff (const struct launch *launch, int failures);

#endif
