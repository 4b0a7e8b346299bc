/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisors of a generation are told (wire/run.h). */
#ifndef BACKEND_RUN_SPEC_H
#define BACKEND_RUN_SPEC_H

#include "backend/machine.h"
#include "cluster/cluster.h"

/* What all ranks of a generation have in common.  All of it is borrowed. */
struct run_spec {
    const struct cluster *cluster;
    const struct job *job; /* it runs: placement and generation count */
    const struct machine *machine;
    const struct run_slot_map *slot_map;
    char *const *environment;   /* of every replica, before the job's own; NULL at the end */
    const char *checkpoint_dir; /* where the job has none of its own: below this, by its name */
    const char *url, *token;    /* for its hints; NULL: none */
    const char *cgroup;         /* for runs to have theirs in; NULL: none */
    const char *program, *mpirun;
    const char *directory; /* STATE/run */
};

/* Run number `rank`, as text that is the caller's (free).  The last of a job under mpi is mpirun
 * itself, which starts the others. */
int run_spec_describe (const struct run_spec *spec, int rank, char **ret, size_t *ret_length,
                       struct pollux_error *err);

/* The variables that every replica has to start with, for briefing.base: the user's own,
 * nothing of this program's.  NULL: no memory; the caller's (briefing_free). */
char **run_spec_environment (void);
void run_spec_free (char **list);

/* The job's checkpoint directory, in a buffer of RUN_PATH_SIZE. */
int run_spec_checkpoint (const struct run_spec *spec, char ret[RUN_PATH_SIZE],
                         struct pollux_error *err);

#endif
