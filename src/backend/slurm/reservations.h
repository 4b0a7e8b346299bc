/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of active reservations, as scontrol lists them. */
#ifndef BACKEND_SLURM_RESERVATIONS_H
#define BACKEND_SLURM_RESERVATIONS_H

#include "backend/words.h"
#include "cluster/node.h"

/* A node of an active reservation. */
struct slurm_reserved_node {
    char node[NAME_SIZE];
    char reservation[NAME_SIZE]; /* "": a name that is too long to be ours */
};

struct slurm_reservations {
    struct slurm_reserved_node
        *list; /* in the order of nodes; a node may be in several reservations */
    int count;
};

enum slurm_reserved {
    SLURM_NOT_RESERVED,
    SLURM_RESERVED_FOR_US,
    SLURM_RESERVED_FOR_OTHERS, /* also if only some cores of the node are */
};

/* The command whose output slurm_reservations_parse reads.  -ENOMEM */
int slurm_reservations_words (struct words *ret);

/* Parse it.  On success *ret is the caller's (slurm_reservations_clear).  -EPROTO: the output is something else; err
 * names the line.  -E2BIG, -ENOMEM.  Reservations that are not active, or have no nodes, are left out. */
int slurm_reservations_parse (const char *text, size_t length, struct slurm_reservations *ret,
                              struct pollux_error *err);
void slurm_reservations_clear (struct slurm_reservations *reservations);

/* Who may use a node.  ours: the reservation that jobs are submitted to; "": none.  A node of ours that is in another
 * reservation, too, is ours: whether it may be used at the moment is in the node's state. */
enum slurm_reserved slurm_reservations_find (const struct slurm_reservations *reservations,
                                             const char *ours, const char *node);

#endif
