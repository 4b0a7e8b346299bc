/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisors of a generation are told (wire/run.h). */
#ifndef BACKEND_BRIEFING_H
#define BACKEND_BRIEFING_H

#include "backend/machine.h"
#include "cluster/cluster.h"

/* What all ranks of a generation have in common.  All of it is borrowed. */
struct briefing {
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

/* Run number `rank`, as text that is the caller's (free).  The last of a job under mpi is mpirun
 * itself, which starts the others. */
int briefing_describe (const struct briefing *briefing, int rank, char **ret, size_t *ret_length,
                       struct pollux_error *err);

/* The variables that every replica has to start with, for briefing.base: the user's own,
 * nothing of this program's.  NULL: no memory; the caller's (briefing_free). */
char **briefing_base (void);
void briefing_free (char **list);

/* The job's checkpoint directory, in a buffer of RUN_PATH_SIZE. */
int briefing_checkpoint (const struct briefing *briefing, char ret[RUN_PATH_SIZE],
                         struct pollux_error *err);

#endif
