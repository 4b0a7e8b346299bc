/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpirun (Open MPI) for a generation whose shares are Slurm jobs of their own.
 *
 *     share 0, Slurm job 17 on n0                      share 1, Slurm job 18 on n1
 *       supervisor of rank 0 --> replica                 supervisor of rank 2 --> replica
 *       supervisor of rank 1 --> replica                 step: srun --jobid=18 orted
 *       mpirun --> proxies of ranks 0 and 1                orted --> proxy of rank 2
 *         --> sh ./agent n1 orted ...
 *
 * Replicas are children of their supervisors, as without MPI: they have the devices, the stop requests and the status of
 * their share.  mpirun starts a proxy for each rank, which hands the variables of MPI to the supervisor of that rank
 * (supervisor_mpi.c).  PMIx takes any process of the same user that has these variables.
 *
 * Each share writes the id of its Slurm job to the generation's directory.  The first share waits for all of them and writes
 * the host file and a launch agent, which starts Open MPI's daemon on a node as a step of that node's Slurm job.
 */
#ifndef BACKEND_MPIRUN_H
#define BACKEND_MPIRUN_H

#include "backend/run.h"

/* Options of every mpirun, NULL at the end: it binds nothing to CPUs, and a rank that ends early does not end the others,
 * because polluxd decides that from their status. */
extern const char *const mpirun_options[];

/* Write that the share whose first rank is name->rank is this Slurm job.  -EEXIST: another one has it. */
int mpirun_publish_share (int root, const struct run_name *name, int count,
                          struct pollux_error *err);

struct mpirun {
    int root;                                  /* borrowed, as all of this */
    struct run_name name;                      /* of any rank */
    const char *path;                          /* of the generation's directory */
    int world;                                 /* ranks of all shares */
    const struct run_description *description; /* of a rank: environment and grace */
};

/* Run mpirun to its end, in a process of its own below supervisor_share: its exit code, always 0.  A request to stop goes to the
 * ranks, not to mpirun, which would kill them within seconds: it is stopped when their grace is over.  How it ended is
 * written for ranks that wait for it. */
int mpirun_run (const struct mpirun *mpirun);

#endif
