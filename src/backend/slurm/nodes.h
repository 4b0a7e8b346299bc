/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a Slurm cluster, as sinfo lists them. */
#ifndef BACKEND_SLURM_NODES_H
#define BACKEND_SLURM_NODES_H

#include "backend/slurm/gres.h"
#include "backend/slurm/states.h"
#include "backend/words.h"

enum { SLURM_ADDRESS_SIZE = 256 };

struct slurm_node {
    char name[NAME_SIZE];
    char address[SLURM_ADDRESS_SIZE]; /* NodeAddr: a host name or an address */
    char state[32];                   /* StateLong, with its suffix */
    struct slurm_gres gres;           /* what the node has */
    int gres_used;                    /* of gres.type, by all jobs, ours included */
    int cpus, cpus_used;              /* used: allocated to jobs */
    int64_t memory_mb, memory_used_mb;
    bool
        closed; /* none of its partitions takes and starts jobs: they are down, drained or inactive */
};

struct slurm_nodes {
    struct slurm_node *list; /* in the order of their names; each once */
    int count, capacity;
};

/* Which nodes: all of these that are not NULL must hold. */
struct slurm_nodes_query {
    const char *partition; /* or several with commas */
    const char *nodes;     /* a list as "n[0-3],m1" */
    const char *gres;      /* the name of the resource; NULL: "gpu" */
    const char *type;      /* count this type only; NULL: any */
};

/* The command whose output slurm_nodes_parse reads.  -ENOMEM */
int slurm_nodes_words (const struct slurm_nodes_query *query, struct words *ret);

/* Parse it.  On success *ret is the caller's (slurm_nodes_clear).  -EPROTO: the output is something else;
 * err names the line.  -ENOMEM.  A node in several partitions is listed once, and
 * is closed if all of these are. */
int slurm_nodes_parse (const struct slurm_nodes_query *query, const char *text, size_t length,
                       struct slurm_nodes *ret, struct pollux_error *err);
void slurm_nodes_clear (struct slurm_nodes *nodes);

/* The node of that name; NULL: there is none. */
const struct slurm_node *slurm_nodes_find (const struct slurm_nodes *nodes, const char *name);

#endif
