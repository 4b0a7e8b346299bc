/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery of this machine.  GPUs come from nvidia-smi, once, in lines "INDEX, NAME, UUID".  With a
 * broken driver nvidia-smi can hang, so it has a deadline.
 */
#define _GNU_SOURCE
#include "backend/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/gpu_type.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "wire/submission.h"

/* A line of nvidia-smi is below 100 bytes, and no machine has more than 64 GPUs. */
enum { OUTPUT_SIZE = 64 << 10, DEADLINE_MS = 10000, GPUS_LIMIT = SLOTS_LIMIT };

extern char **environ;

/* ---- GPUs --------------------------------------------------------------------------------- */

static int64_t clock_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read until the end; false at the deadline or with a full buffer. */
static bool read_all (int file, char *text)
{
    int64_t end_ms = clock_ms () + DEADLINE_MS;
    size_t length = 0;
    struct pollfd wait = {.fd = file, .events = POLLIN};
    while (length < OUTPUT_SIZE - 1) {
        int64_t left_ms = end_ms - clock_ms ();
        if (left_ms <= 0 || poll (&wait, 1, (int)left_ms) == 0)
            return false;
        ssize_t got = read (file, text + length, OUTPUT_SIZE - 1 - length);
        if (got < 0 && errno != EINTR)
            return false;
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    text[length] = '\0';
    return length < OUTPUT_SIZE - 1;
}

/* Run nvidia-smi; false if it cannot be run, fails or does not end. */
static bool query_gpus (const char *program, char *text)
{
    char *words[] = {(char *)program, "--query-gpu=index,name,uuid", "--format=csv,noheader", NULL};
    int ends[2], pid, wait_status = -1;
    posix_spawn_file_actions_t actions;
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return false;
    bool good = posix_spawn_file_actions_init (&actions) == 0;
    if (good) {
        good = posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0) == 0 &&
               posix_spawn_file_actions_adddup2 (&actions, ends[1], 1) == 0 &&
               posix_spawn_file_actions_adddup2 (&actions, 0, 2) == 0 &&
               posix_spawnp (&pid, program, &actions, NULL, words, environ) == 0;
        posix_spawn_file_actions_destroy (&actions);
    }
    close (ends[1]);
    if (good) {
        good = read_all (ends[0], text);
        if (!good)
            kill (pid, SIGKILL);
        good = waitpid (pid, &wait_status, 0) == pid && wait_status == 0 && good;
    }
    close (ends[0]);
    return good;
}

/* Parse one line: the GPU's number, and its name as a type. */
static bool parse_gpu (char *line, int *ret_index, char type[NAME_SIZE])
{
    char *comma = strchr (line, ',');
    int64_t index;
    if (!comma)
        return false;
    *comma = '\0';
    char *name = comma + 1 + strspn (comma + 1, " ");
    name[strcspn (name, ",")] = '\0';
    if (number_int64 (line, &index) < 0 || index < 0 || index > INT_MAX)
        return false;
    gpu_type (name, type);
    *ret_index = (int)index;
    return true;
}

static int find_gpus (const char *program, struct machine *machine, struct pollux_error *err)
{
    char *text = malloc (OUTPUT_SIZE), *rest;
    machine->gpus = calloc (GPUS_LIMIT, sizeof (machine->gpus[0]));
    if (!text || !machine->gpus) {
        free (text);
        return fail (err, -ENOMEM, "no memory for a list of GPUs");
    }
    if (query_gpus (program ? program : "nvidia-smi", text)) {
        char *line = strtok_r (text, "\n", &rest);
        for (; line && machine->gpu_count < GPUS_LIMIT; line = strtok_r (NULL, "\n", &rest)) {
            struct machine_gpu *gpu = &machine->gpus[machine->gpu_count];
            machine->gpu_count += parse_gpu (line, &gpu->index, gpu->type);
        }
    }
    free (text);
    return 0;
}

/* ---- CPUs --------------------------------------------------------------------------------- */

static int find_cpus (struct machine *machine, struct pollux_error *err)
{
    union {
        unsigned char bytes[RUN_CPU_LIMIT / 8];
        cpu_set_t set;
    } mask;
    memset (&mask, 0, sizeof (mask));
    if (sched_getaffinity (0, sizeof (mask), &mask.set) < 0)
        return fail (err, -errno, "cannot read the CPUs of this machine: %s", strerror (errno));
    machine->cpus = calloc (RUN_CPU_LIMIT, sizeof (int));
    if (!machine->cpus)
        return fail (err, -ENOMEM, "no memory for a list of CPUs");
    for (int i = 0; i < RUN_CPU_LIMIT; i++)
        if (CPU_ISSET_S ((size_t)i, sizeof (mask), &mask.set))
            machine->cpus[machine->cpu_count++] = i;
    return 0;
}

void machine_cpus (const struct machine *machine, const struct machine_node *node, int slot,
                   struct run_list *ret)
{
    ret->count = 0;
    if (node->gpu || node->unbound || machine->cpu_slots > machine->cpu_count)
        return;
    int64_t slots = machine->cpu_slots, at = node->first + slot;
    int from = (int)(at * machine->cpu_count / slots);
    int to = (int)((at + 1) * machine->cpu_count / slots);
    for (int i = from; i < to && ret->count < RUN_LIST_LIMIT; i++)
        ret->items[ret->count++] = machine->cpus[i];
}

const struct machine_node machine_group_node = {.unbound = true};

/* ---- Nodes -------------------------------------------------------------------------------- */

const struct machine_node *machine_find (const struct machine *machine, const char *name)
{
    for (int i = 0; i < machine->node_count; i++)
        if (strcmp (machine->nodes[i].node.name, name) == 0)
            return &machine->nodes[i];
    return NULL;
}

/* How many GPUs from number `first` have its type. */
static int equal_gpus (const struct machine *machine, int first)
{
    int at = first;
    while (at < machine->gpu_count &&
           strcmp (machine->gpus[at].type, machine->gpus[first].type) == 0)
        at++;
    return at - first;
}

/* The type of a declared node that names none. */
static int find_type (const struct machine *machine, const struct machine_node *at,
                      char ret[NAME_SIZE], struct pollux_error *err)
{
    if (!at->gpu) {
        strcpy (ret, "cpu");
        return 0;
    }
    int equal = equal_gpus (machine, at->first);
    const struct machine_gpu *gpus = machine->gpus + at->first;
    if (equal < at->node.slots)
        return fail (
            err, -EINVAL,
            "node %s: GPU %d is of type %s and GPU %d of type %s, and a node has one type; "
            "declare other nodes, or name a type: %s:%d:TYPE",
            at->node.name, gpus[equal - 1].index, gpus[equal - 1].type, gpus[equal].index,
            gpus[equal].type, at->node.name, at->node.slots);
    memcpy (ret, gpus[0].type, NAME_SIZE);
    return 0;
}

static int add_node (struct machine *machine, struct node node, int *gpus_given,
                     struct pollux_error *err)
{
    struct machine_node *at = &machine->nodes[machine->node_count];
    bool gpu = machine->gpu_count > 0 && strcmp (node.type, "cpu") != 0;
    if (machine_find (machine, node.name))
        return fail (err, -EINVAL, "node %s: declared twice", node.name);
    if (gpu && *gpus_given + node.slots > machine->gpu_count)
        return fail (err, -EINVAL,
                     "node %s: %d slots, but of this machine's %d GPUs %d are left; for CPU slots "
                     "write %s:%d:cpu",
                     node.name, node.slots, machine->gpu_count, machine->gpu_count - *gpus_given,
                     node.name, node.slots);
    *at = (struct machine_node){.node = node, .gpu = gpu};
    at->first = gpu ? *gpus_given : machine->cpu_slots;
    *(gpu ? gpus_given : &machine->cpu_slots) += node.slots;
    int code = *node.type ? 0 : find_type (machine, at, at->node.type, err);
    machine->node_count += code == 0;
    return code;
}

/* Put GPUs of one type next to each other, types and GPUs otherwise in nvidia-smi's order. */
static void sort_gpus (struct machine *machine)
{
    for (int first = 0; first < machine->gpu_count; first += equal_gpus (machine, first)) {
        int last = first;
        for (int i = first + 1; i < machine->gpu_count; i++) {
            struct machine_gpu gpu = machine->gpus[i];
            if (strcmp (gpu.type, machine->gpus[first].type) != 0)
                continue;
            last++;
            memmove (&machine->gpus[last + 1], &machine->gpus[last],
                     (size_t)(i - last) * sizeof (gpu));
            machine->gpus[last] = gpu;
        }
    }
}

/* The name of this host, if it can be that of a node. */
static void host_name (char ret[NAME_SIZE])
{
    char host[256] = "";
    gethostname (host, sizeof (host) - 1);
    host[strcspn (host, ".")] = '\0';
    snprintf (ret, NAME_SIZE, "%s", wire_is_job (host) ? host : "localhost");
}

/* Without --node: one node per type of GPU, or one of CPUs. */
static int add_whole_machine (struct machine *machine, struct pollux_error *err)
{
    char host[NAME_SIZE];
    int code = 0, given = 0;
    host_name (host);
    sort_gpus (machine);
    do {
        int slots = machine->gpu_count > 0 ? equal_gpus (machine, given) : machine->cpu_count;
        struct node node = {.slots = slots < SLOTS_LIMIT ? slots : SLOTS_LIMIT, .available = true};
        bool mixed = slots < machine->gpu_count;
        int length = snprintf (node.name, NAME_SIZE, mixed ? "%s-%s" : "%s", host,
                               mixed ? machine->gpus[given].type : "");
        code = length < NAME_SIZE ? add_node (machine, node, &given, err)
                                  : fail (err, -EINVAL, "%s-%s: too long for a node's name", host,
                                          machine->gpus[given].type);
    } while (code == 0 && given < machine->gpu_count);
    return code;
}

int machine_discover (const char *nvidia_smi, const struct node *declared, int count,
                      struct machine *ret, struct pollux_error *err)
{
    struct machine machine = {0};
    int gpus_given = 0;
    int code = find_cpus (&machine, err);
    if (code == 0)
        code = find_gpus (nvidia_smi, &machine, err);
    int most = count > 0 ? count : machine.gpu_count + 1;
    if (code == 0 && !(machine.nodes = calloc ((size_t)most, sizeof (machine.nodes[0]))))
        code = fail (err, -ENOMEM, "no memory for %d nodes", most);
    for (int i = 0; code == 0 && i < count; i++)
        code = add_node (&machine, declared[i], &gpus_given, err);
    if (code == 0 && count == 0)
        code = add_whole_machine (&machine, err);
    if (code < 0)
        machine_clear (&machine);
    else
        *ret = machine;
    return code;
}

void machine_clear (struct machine *machine)
{
    free (machine->nodes);
    free (machine->gpus);
    free (machine->cpus);
    *machine = (struct machine){0};
}

/* ---- Cgroups ------------------------------------------------------------------------------ */

/* This process's cgroup v2 path, from the line "0::/PATH"; false: none. */
static bool own_cgroup (char *ret, size_t size)
{
    char *text, *rest;
    size_t length;
    bool found = false;
    if (file_read ("/proc/self/cgroup", OUTPUT_SIZE, &text, &length, NULL) < 0)
        return false;
    for (char *line = strtok_r (text, "\n", &rest); line; line = strtok_r (NULL, "\n", &rest)) {
        if (strncmp (line, "0::/", 4) == 0 && strlen (line + 3) < size) {
            strcpy (ret, line + 3);
            found = true;
        }
    }
    free (text);
    return found;
}

int machine_cgroup (char ret[RUN_PATH_SIZE], struct pollux_error *err)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char path[RUN_PATH_SIZE - 64], procs[RUN_PATH_SIZE];
    if (!own_cgroup (path, sizeof (path)))
        return fail (err, -ENOENT, "this system has no cgroup v2");
    for (size_t i = 0; i < sizeof (mounts) / sizeof (mounts[0]); i++) {
        const char *below = strcmp (path, "/") == 0 ? "" : path;
        snprintf (procs, sizeof (procs), "%s%s/cgroup.procs", mounts[i], below);
        if (access (procs, W_OK) == 0) {
            snprintf (ret, RUN_PATH_SIZE, "%s%s", mounts[i], below);
            return 0;
        }
    }
    return fail (err, -ENOENT, "the cgroup %s is not delegated to this user",
                 file_name (path).text);
}
