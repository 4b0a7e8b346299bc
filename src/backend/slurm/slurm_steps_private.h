/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the backend `slurm-steps` share.
 *
 *     slurm_steps.c        the ops; making and freeing
 *     slurm_steps_way.c    submitting, signalling and reading shares (struct slurm_way)
 *     slurm_steps_nodes.c  the nodes of the allocation, and when it ends
 */
#ifndef BACKEND_SLURM_SLURM_STEPS_PRIVATE_H
#define BACKEND_SLURM_SLURM_STEPS_PRIVATE_H

#include "backend/node_changes.h"
#include "backend/run_settings.h"
#include "backend/slurm/nodes.h"
#include "backend/slurm/slurm_carrier.h"
#include "backend/slurm/slurm_steps.h"

struct steps {
    struct slurm slurm;
    char allocation[24]; /* SLURM_JOB_ID */
    int64_t allocation_id;
    struct run_settings runs;
    char token_text[1025];
    int64_t unwanted_us; /* steps that no generation has are not cancelled again before this time */
    int64_t pruned_us;   /* logs of jobs that ended before this time were removed */

    /* The allocation. */
    struct steps_node {
        char address[SLURM_ADDRESS_SIZE];
        bool gpu;
        int64_t failed_us; /* when a share failed with it; 0: never */
    } * details;           /* by node */
    struct node_changes changes;
    struct node *declared; /* by the configuration: their slots count */
    int declared_count;
    char query_key[SLURM_KEY_SIZE];
    char *job_nodes, *job_gres; /* as squeue wrote them */
    int64_t end_s;              /* when Slurm ends the allocation, since 1970; -1: not known */
};

extern const struct slurm_way steps_way;

/* The node of that name as it is now; NULL: it is not in the allocation. */
const struct steps_node *steps_find_node (const struct steps *steps, const char *name,
                                          const struct node **ret);

/* node_failed of struct slurm_way: the node has no slots until a query that begins later finds it usable. */
void steps_node_failed (void *self, int node);
/* Ask Slurm for the allocation's nodes if that is due. */
void steps_query_nodes (struct steps *steps);
/* Fill nodes from what was asked, and say when to ask again.  gres: per node, as squeue writes it. */
int steps_take_nodes (struct steps *steps, const struct slurm_nodes *found, const char *gres,
                      struct pollux_error *err);

#endif
