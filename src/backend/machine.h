/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs and CPUs of this machine, and the nodes that it is divided into:
 *
 *     GPUs by nvidia-smi    one node named after the host, a slot per GPU; with several types of GPUs one
 *                           node per type, HOST-TYPE
 *     no GPUs               one node named after the host, a slot per CPU
 *     --node a:2 --node b:2 these nodes instead: a has the first two GPUs, b the next two; without
 *                           GPUs, or with the type "cpu", their slots are shares of the CPUs
 */
#ifndef BACKEND_MACHINE_H
#define BACKEND_MACHINE_H

#include "cluster/node.h"
#include "wire/run.h"

struct machine_node {
    struct node node;
    bool gpu;     /* its slots are GPUs, otherwise CPUs */
    int first;    /* index of its slot 0 among all GPUs, or among all CPU slots */
    bool unbound; /* its slots have no CPUs of their own: the kernel divides them */
};

/* A node of a group, which was not there when the daemon started: its slots are CPUs. */
extern const struct machine_node machine_group_node;

struct machine_gpu {
    int index; /* in nvidia-smi and CUDA_VISIBLE_DEVICES */
    char type[NAME_SIZE];
};

struct machine {
    struct machine_node *nodes;
    int node_count;
    struct machine_gpu *gpus;
    int gpu_count;
    int *cpus; /* those that this process may run on */
    int cpu_count;
    int cpu_slots; /* of all nodes that have CPUs */
};

/* Find the GPUs and CPUs.  nvidia_smi: the program that lists the GPUs, NULL: nvidia-smi in the
 * PATH; if it is missing or fails, there are no GPUs.  declared: the nodes of --node; count 0: none.
 * -EINVAL: more GPU slots than GPUs, two nodes of one name, or GPUs of two types in one node that does not name
 * its type.  On success *ret is the
 * caller's (machine_clear). */
int machine_discover (const char *nvidia_smi, const struct node *declared, int count,
                      struct machine *ret, struct pollux_error *err);
void machine_clear (struct machine *machine);

/* The node of that name; NULL: there is none. */
const struct machine_node *machine_find (const struct machine *machine, const char *name);

/* The CPUs of a slot, an equal share.  None if there are more slots than CPUs: then the kernel
 * divides them. */
void machine_cpus (const struct machine *machine, const struct machine_node *node, int slot,
                   struct run_list *ret);

/* The cgroup v2 directory in which this process may make others.  -ENOENT: there is none. */
int machine_cgroup (char ret[RUN_PATH_SIZE], struct pollux_error *err);

#endif
