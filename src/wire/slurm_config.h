/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `slurm` of polluxd's configuration, for the backend `slurm`:
 *
 *     slurm:
 *       partition: gpu            # these nodes are divided among jobs
 *       gres: gpu
 *       directory: "%h/.pollux"   # files of an owner's jobs
 *       min_uid: 1000
 *       defaults: {time_limit: 1-00, memory_per_replica: 16G}
 *       partitions: {debug: {time_limit: 30}}
 */
#ifndef WIRE_SLURM_CONFIG_H
#define WIRE_SLURM_CONFIG_H

#include "wire/slurm.h"

enum { WIRE_SLURM_PARTITIONS = 64, WIRE_SLURM_LIST_SIZE = 1024 };

struct wire_slurm_config {
    char partition[NAME_SIZE];        /* "": any */
    char nodes[WIRE_SLURM_LIST_SIZE]; /* a list as n[0-3]; "": all of the partition */
    char reservation[NAME_SIZE];      /* "": none */
    char gres[NAME_SIZE];             /* what a slot is; "": a CPU */
    char gres_type[NAME_SIZE];        /* "": any */
    char directory[512];              /* of an owner's files, with %h and %u */
    int min_uid;
    struct slurm_request defaults; /* of jobs that do not say */
    struct wire_slurm_partition {
        char name[NAME_SIZE];
        struct slurm_request defaults;
    } partitions[WIRE_SLURM_PARTITIONS];
    int partition_count;
};

struct wire_slurm_config wire_slurm_config_default (void);

/* Read the section; fields that are absent do not change. */
int wire_slurm_config_decode (const struct wire_place *object, struct wire_slurm_config *ret,
                              struct pollux_error *err);
int wire_slurm_config_put (json_t *object, const char *key, const struct wire_slurm_config *config,
                           struct pollux_error *err);

/* What a job asks of Slurm, completed with the defaults of its partition, then with the general ones.
 * The partition itself is the job's, or that of the defaults, or that of the section. */
struct slurm_request wire_slurm_complete (const struct wire_slurm_config *config,
                                          const struct slurm_request *request);

/* The rule for a list of nodes: NULL, or what was expected. */
const char *wire_wrong_slurm_nodes (const char *text);
/* The rule for the directory of an owner's files. */
const char *wire_wrong_slurm_directory (const char *text);

#endif
