/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisors of a generation are told (wire/run.h). */
#ifndef BACKEND_DESCRIBE_H
#define BACKEND_DESCRIBE_H

#include "backend/machine.h"
#include "cluster/cluster.h"

/* What all ranks of a generation have in common.  All of it is borrowed. */
struct description_source {
    const struct cluster *cluster;
    const struct job *job; /* it runs: placement and generation count */
    const struct machine *machine;
    const struct run_seats *seats;
    char *const *base;          /* variables for every replica, NULL at the end */
    const char *checkpoint_dir; /* where the job has none of its own: below this, by its name */
    const char *url, *token;    /* for its hints; NULL: none */
    const char *cgroup;         /* for runs to have theirs in; NULL: none */
    const char *program, *mpirun;
    const char *directory; /* STATE/run */
};

/* How many runs: its replicas, and one more for mpirun where that starts them. */
int describe_count (const struct job *job);

/* Run number `rank`, as text that is the caller's (free).  The last of a job under mpi is mpirun
 * itself, which starts the others. */
int describe (const struct description_source *source, int rank, char **ret, size_t *ret_length,
              struct pollux_error *err);

/* The variables that every replica has to start with, for description_source.base: the user's own,
 * nothing of this program's.  NULL: no memory; the caller's (describe_free). */
char **describe_base (void);
void describe_free (char **list);

/* The job's checkpoint directory, in a buffer of RUN_PATH_SIZE. */
int describe_checkpoint (const struct description_source *source, char ret[RUN_PATH_SIZE],
                         struct pollux_error *err);

#endif
