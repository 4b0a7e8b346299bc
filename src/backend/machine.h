/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine has, and the nodes that it is divided into:
 *
 *     GPUs by nvidia-smi    one node named after the host, a slot per GPU
 *     no GPUs               the same, a slot per CPU
 *     --node a:2 --node b:2 these nodes instead: a has the first two GPUs, b the next two; without
 *                           GPUs, or with the type "cpu", their slots are shares of the CPUs
 */
#ifndef BACKEND_MACHINE_H
#define BACKEND_MACHINE_H

#include "cluster/node.h"
#include "wire/run.h"

struct machine_node {
    struct node node;
    bool gpu;  /* its slots are GPUs, otherwise CPUs */
    int first; /* its slot 0, among all GPUs or among all slots that are CPUs */
};

struct machine {
    struct machine_node *nodes;
    int node_count;
    int *gpus; /* their numbers, as nvidia-smi and CUDA_VISIBLE_DEVICES count */
    int gpu_count;
    int *cpus; /* that this process may run on */
    int cpu_count;
    int cpu_slots; /* of all nodes that have CPUs */
};

/* Look at this machine.  nvidia_smi is the program to ask, NULL: nvidia-smi in the PATH; one that
 * is not there, or fails, means no GPUs.  declared: the nodes of --node, none for one node.
 * -EINVAL for nodes with more GPUs than there are, or of one name.  On success *ret is the
 * caller's (machine_clear). */
int machine_discover (const char *nvidia_smi, const struct node *declared, int count,
                      struct machine *ret, struct pollux_error *err);
void machine_clear (struct machine *machine);

/* The node of that name; NULL: none of this machine's. */
const struct machine_node *machine_find (const struct machine *machine, const char *name);

/* The CPUs of a slot: its share of all.  None if there are more slots than CPUs: then all share
 * all, which the kernel divides better than we could. */
void machine_cpus (const struct machine *machine, const struct machine_node *node, int slot,
                   struct run_list *ret);

/* The directory in the cgroup v2 hierarchy that this process may make others in; -ENOENT if there
 * is none: then runs have none. */
int machine_cgroup (char ret[RUN_PATH_SIZE], struct pollux_error *err);

#endif
