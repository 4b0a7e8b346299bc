/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines that start and stop shares in Slurm.  A share is what one generation runs on one node.
 * All functions are pure; all texts are checked: no control characters, and no word that Slurm would read
 * as an option or a list of nodes.
 */
#ifndef BACKEND_SLURM_SUBMISSION_H
#define BACKEND_SLURM_SUBMISSION_H

#include <stdint.h>

#include "backend/words.h"

/* Strings that are NULL or "" and numbers that are 0 are not given to Slurm, where not said otherwise. */
struct slurm_share {
    const char *name;      /* of the step or job: JOB.GENERATION.SHARE; required */
    const char *comment;   /* jobs only: for people */
    const char *node;      /* required */
    const char *pollux;    /* the command on the nodes, a path; required */
    const char *directory; /* of the generation, absolute; required */
    int first, count;      /* ranks of this share; count >= 1 */
    const char *gres;      /* "gpu" */
    const char *gres_type; /* "a100" */
    int gres_count; /* job: of this share; step: all of the node's in the allocation, shared with other steps */
    int cpus;          /* of the share; a step uses all CPUs of the allocation on the node */
    int64_t memory_mb; /* of the share; a step uses all memory of the allocation on the node */

    int mpi_ranks; /* sbatch: of all shares of an MPI job; the first runs mpirun */

    int64_t allocation; /* srun: the job id whose step it becomes */

    const char *account, *qos, *partition, *reservation; /* sbatch */
    int time_limit_min;                                  /* sbatch */
    const char *output; /* sbatch: file for the script's output, NULL: /dev/null */
};

/* srun of a share inside an allocation: one task `pollux exec --share`.  -EINVAL: a text is not allowed;
 * -ENOMEM. */
int slurm_srun_share (const struct slurm_share *share, struct words *ret, struct pollux_error *err);

/* srun of a whole MPI generation inside an allocation: tasks `pollux exec --mpi`, the ranks in the order of
 * the host file, a line per rank (SLURM_HOSTFILE, see slurm_hostfile).  `share` gives name, pollux,
 * directory, allocation and GRES; first is 0, count the number of all ranks; node is not used.  nodes: number
 * of different nodes. */
int slurm_srun_mpi (const struct slurm_share *share, int nodes, struct words *ret,
                    struct pollux_error *err);

/* sbatch of a share: the words (--parsable, script on standard input) and the script.  *ret_script is the
 * caller's (free). */
int slurm_sbatch_share (const struct slurm_share *share, struct words *ret, char **ret_script,
                        struct pollux_error *err);

/* The text of a SLURM_HOSTFILE: the name of a node for each of its ranks, in order.  *ret is the caller's. */
int slurm_hostfile (const char *const *nodes, const int *replicas, int count, char **ret,
                    struct pollux_error *err);

/* scancel: send a signal ("URG"), or, with NULL, cancel (TERM, then KILL after KillWait).
 *     a job: its batch script and, with it, all it started (`pollux exec --share` passes the signal on)
 *     a step: all processes of the step
 * -ENOMEM */
int slurm_scancel_job (int64_t id, const char *signal, struct words *ret);
int slurm_scancel_step (int64_t id, const char *step, const char *signal, struct words *ret);

/* Do the messages of sbatch say that Slurm could not be asked: slurmctld or munged does not answer, or takes no job
 * now?  Only whole sentences at the beginnings of lines count, because lines may also contain words that a user has
 * chosen, such as the name of a partition. */
bool slurm_sbatch_unreachable (const char *messages);

/* A word in single quotes for a shell script.  The caller frees it; NULL: no memory. */
char *slurm_shell_quote (const char *text);

#endif
