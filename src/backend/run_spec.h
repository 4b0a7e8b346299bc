/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of runs (wire/run.h), from a job and its placement. */
#ifndef BACKEND_RUN_SPEC_H
#define BACKEND_RUN_SPEC_H

#include "backend/machine.h"
#include "cluster/cluster.h"

/* What all ranks of a generation have in common.  Borrowed. */
struct run_spec {
    const struct cluster *cluster;
    const struct job *job;         /* its placement and generation are those of the run */
    const struct machine *machine; /* NULL: other machines, with the next fields */
    const char *master;            /* MASTER_ADDR; its port is chosen there */
    bool devices;     /* slots are positions in the devices that Slurm gives to a share */
    bool local_slots; /* with devices: the share has its own ones, numbered from 0 */
    bool munge;       /* reports are signed with munge, instead of a token */
    int cpus;         /* OMP_NUM_THREADS of replicas without devices */
    const char *ca;   /* the certificates that supervisors trust; NULL: the system's */
    const struct run_slot_map *slot_map;
    char *const *environment;   /* of every replica, before the job's own; NULL at the end */
    const char *checkpoint_dir; /* jobs that name no directory get CHECKPOINT_DIR/JOB */
    const char *url, *token;    /* for hints; NULL: none */
    const char *cgroup;         /* parent of the runs' cgroups; NULL: none */
    const char *program, *mpirun;
    const char *directory; /* STATE/run */
};

/* The description of run number `rank`, as text, the caller's (free).  The last run of an MPI job is
 * mpirun, which starts the others. */
int run_spec_describe (const struct run_spec *spec, int rank, char **ret, size_t *ret_length,
                       struct pollux_error *err);

/* PATH, HOME, USER and the like of this user, for run_spec.environment; of this process's environment
 * only LANG, and TMPDIR if this user can write there.  NULL: no memory.  The caller's (run_spec_free). */
char **run_spec_environment (void);
void run_spec_free (char **list);

/* Where a job's checkpoints are: its own directory, or DIRECTORY/JOB.  The caller's (free).  NULL: no
 * memory, or neither is known (directory NULL). */
char *run_spec_checkpoint_dir (const char *directory, const struct job *job);

/* Make the job's checkpoint directory and those above it, with mode 0700.  -EINVAL: the job named
 * it, and it cannot be made; -EIO: the same with the daemon's own. */
int run_spec_make_checkpoint (const struct run_spec *spec, struct pollux_error *err);

#endif
