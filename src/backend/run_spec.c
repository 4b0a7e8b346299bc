/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a job, its placement and a rank to the description of one run.
 *
 * Environment, where later variables replace earlier ones: the user's (PATH, HOME, ...),
 * OMP_NUM_THREADS, the job's own, and those by which ranks find each other, which a job cannot set.
 * As with torchrun, a replica sees the GPUs of all ranks of its job on its node; its own is the one
 * numbered LOCAL_RANK.
 */
#define _GNU_SOURCE /* asprintf */
#include "backend/run_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/mpirun.h"
#include "base/error.h"
#include "base/file.h"

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* ---- Lists of variables and words --------------------------------------------------------- */

struct list {
    char **items; /* NULL at the end; each is owned */
    size_t count, capacity;
    bool short_of_memory;
};

void run_spec_free (char **list)
{
    for (char **at = list; at && *at; at++)
        free (*at);
    free (list);
}

/* Add an item and own it; NULL means that there was no memory for it. */
static void list_add (struct list *list, char *item)
{
    if (item && list->count + 1 >= list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        char **items = realloc (list->items, capacity * sizeof (items[0]));
        if (items) {
            list->items = items;
            list->capacity = capacity;
        }
    }
    if (!item || list->count + 1 >= list->capacity) {
        free (item);
        list->short_of_memory = true;
        return;
    }
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

/* Is `variable` NAME=value of that name? */
static bool names (const char *variable, const char *name, size_t length)
{
    return strncmp (variable, name, length) == 0 && variable[length] == '=';
}

/* Replace the variable of that name among the first `known`, or add it. */
static void list_set (struct list *list, size_t known, char *variable)
{
    size_t length = variable ? strcspn (variable, "=") : 0;
    for (size_t i = 0; variable && i < known && i < list->count; i++) {
        if (names (list->items[i], variable, length)) {
            free (list->items[i]);
            list->items[i] = variable;
            return;
        }
    }
    list_add (list, variable);
}

/* A formatted text, the caller's; NULL: no memory. */
static char *formatted (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
static char *formatted (const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start (arguments, format);
    if (vasprintf (&text, format, arguments) < 0)
        text = NULL;
    va_end (arguments);
    return text;
}

/* Set a variable NAME=value; add a word of a command. */
#define put(list, ...) list_set (list, SIZE_MAX, formatted (__VA_ARGS__))
#define add_word(list, ...) list_add (list, formatted (__VA_ARGS__))

char **run_spec_environment (void)
{
    struct list list = {0};
    // cppcheck-suppress getpwuidCalled ; at the start, where there is one thread
    const struct passwd *user = getpwuid (geteuid ());
    const char *language = getenv ("LANG"), *temporary = getenv ("TMPDIR");
    put (&list, "PATH=%s", default_path);
    put (&list, "LANG=%s", language && *language ? language : "C.UTF-8");
    if (temporary && *temporary == '/' &&
        faccessat (AT_FDCWD, temporary, W_OK | X_OK, AT_EACCESS) == 0)
        put (&list, "TMPDIR=%s", temporary); /* mpirun leaves files there when it is killed */
    put (&list, "HOME=%s", user ? user->pw_dir : "/");
    if (user) {
        put (&list, "USER=%s", user->pw_name);
        put (&list, "LOGNAME=%s", user->pw_name);
        put (&list, "SHELL=%s", *user->pw_shell ? user->pw_shell : "/bin/sh");
    }
    if (!list.short_of_memory)
        return list.items;
    run_spec_free (list.items);
    return NULL;
}

/* ---- The position of a rank ---------------------------------------------------------------------- */

struct position {
    int rank, world;
    int local_rank, local_world, first; /* first: the rank that is local rank 0 */
    const struct node *node;
    const struct machine_node *machine_node;
};

static int find_position (const struct run_spec *spec, int rank, struct position *ret,
                          struct pollux_error *err)
{
    struct placement placement = spec->job->placement;
    int first = 0;
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        if (rank < first + share.replicas) {
            const struct node *node = &spec->cluster->nodes[share.node];
            *ret = (struct position){
                .rank = rank,
                .world = placement_replicas (placement),
                .local_rank = rank - first,
                .local_world = share.replicas,
                .first = first,
                .node = node,
                .machine_node = spec->machine ? machine_find (spec->machine, node->name) : NULL};
            const struct power *power = &spec->cluster->power;
            if (spec->machine && !ret->machine_node &&
                node_groups_find_node (power->groups, power->count, node->name) >= 0)
                ret->machine_node = &machine_group_node;
            return ret->machine_node || !spec->machine
                       ? 0
                       : fail (err, -ENOENT, "node %s is not a node of this machine", node->name);
        }
        first += share.replicas;
    }
    return fail (err, -EINVAL, "rank %d of %d", rank, first);
}

/* ---- Variables ---------------------------------------------------------------------------- */

/* The GPUs of all ranks on this node, in their order. */
static void put_gpus (struct list *list, const struct run_spec *spec,
                      const struct position *position)
{
    const struct machine *machine = spec->machine;
    char text[SLOTS_LIMIT * 12] = "";
    size_t length = 0;
    for (int i = 0; i < position->local_world; i++) {
        int gpu = position->machine_node->first + spec->slot_map->slots[position->first + i];
        if (gpu < machine->gpu_count)
            length += (size_t)snprintf (text + length, sizeof (text) - length, "%s%d",
                                        i > 0 ? "," : "", machine->gpus[gpu].index);
    }
    put (list, "CUDA_VISIBLE_DEVICES=%s", text);
    put (list, "CUDA_DEVICE_ORDER=PCI_BUS_ID"); /* as nvidia-smi counts */
}

static void put_all (struct list *list, char *const *variables)
{
    size_t known = list->count;
    for (char *const *at = variables; at && *at; at++)
        if (!names (*at, "POLLUX_RUN", 10) && !names (*at, "POLLUX_SOCKET", 13))
            list_set (list, known, strdup (*at));
}

static void put_position (struct list *list, const struct run_spec *spec,
                          const struct position *position)
{
    put (list, "RANK=%d", position->rank);
    put (list, "WORLD_SIZE=%d", position->world);
    put (list, "LOCAL_RANK=%d", position->local_rank);
    put (list, "LOCAL_WORLD_SIZE=%d", position->local_world);
    put (list, "MASTER_ADDR=%s", spec->machine ? "127.0.0.1" : spec->master);
    if (spec->machine)
        put (list, "MASTER_PORT=%d", spec->slot_map->port);
    put (list, "POLLUX_JOB=%s", spec->job->spec.name);
    /* Tells apart jobs of one name, for example after the journal was removed. */
    put (list, "POLLUX_JOB_ID=%s@%lld", spec->job->spec.name, (long long)spec->job->submit_us);
    put (list, "POLLUX_GENERATION=%d", spec->job->generation);
    put (list, "POLLUX_NODE=%s", position->node->name);
    put (list, "POLLUX_NODE_TYPE=%s", position->node->type);
    put (list, "POLLUX_NODES=%d", spec->job->placement.count);
}

char *run_spec_checkpoint_dir (const char *directory, const struct job *job)
{
    const char *own = job->launch ? job->launch->checkpoint_dir : NULL;
    char *path = NULL;
    if (own)
        return strdup (own);
    return directory && asprintf (&path, "%s/%s", directory, job->spec.name) >= 0 ? path : NULL;
}

static int checkpoint_path (const struct run_spec *spec, char ret[RUN_PATH_SIZE],
                            struct pollux_error *err)
{
    char *path = run_spec_checkpoint_dir (spec->checkpoint_dir, spec->job);
    if (!path)
        return fail (err, -ENOMEM, "not enough memory");
    int length = snprintf (ret, RUN_PATH_SIZE, "%s", path);
    free (path);
    return length < RUN_PATH_SIZE
               ? 0
               : fail (err, -ENAMETOOLONG, "the checkpoint directory's path is too long");
}

/* Make a directory and those above it, with mode 0700. */
static int make_path (char *path, struct pollux_error *err)
{
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/')
            continue;
        char end = *at;
        *at = '\0';
        int code = mkdir (path, 0700) < 0 && errno != EEXIST ? errno : 0;
        if (code)
            return fail (err, -code, "checkpoint directory %s: %s", file_name (path).text,
                         strerror (code));
        *at = end;
        if (!end)
            return 0;
    }
}

int run_spec_make_checkpoint (const struct run_spec *spec, struct pollux_error *err)
{
    char path[RUN_PATH_SIZE];
    int code = checkpoint_path (spec, path, err);
    if (code == 0 && make_path (path, err) < 0)
        code =
            spec->job->launch->checkpoint_dir ? -EINVAL : -EIO; /* the job's directory, or ours */
    return code;
}

static int put_variables (struct list *list, const struct run_spec *spec,
                          const struct position *position, int cpus, struct pollux_error *err)
{
    char checkpoint[RUN_PATH_SIZE];
    int code = checkpoint_path (spec, checkpoint, err);
    if (code < 0)
        return code;
    bool devices = spec->machine ? position->machine_node->gpu : spec->devices;
    put_all (list, spec->environment);
    if (!devices)
        put (list, "OMP_NUM_THREADS=%d", cpus > 0 ? cpus : 1);
    put_all (list, spec->job->launch->environment);
    put_position (list, spec, position);
    put (list, "POLLUX_CHECKPOINT_DIR=%s", checkpoint);
    if (spec->machine && devices)
        put_gpus (list, spec, position);
    else if (devices)
        put (list, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
    else if (!spec->machine || spec->machine->gpu_count > 0)
        put (list, "CUDA_VISIBLE_DEVICES="); /* GPUs belong to other nodes */
    return 0;
}

/* ---- Descriptions ------------------------------------------------------------------------- */

/* All but command and environment. */
static struct run_description *start (const struct run_spec *spec, int rank,
                                      struct pollux_error *err)
{
    struct run_description *description = calloc (1, sizeof (*description));
    if (!description) {
        fail (err, -ENOMEM, "not enough memory");
        return NULL;
    }
    description->stop_signal = SIGTERM;
    description->grace_s = RUN_GRACE_DEFAULT;
    description->log_size = RUN_LOG_SIZE_DEFAULT;
    description->log_files = RUN_LOG_FILES_DEFAULT;
    /* Random: other daemons of this user may have jobs of the same name. */
    uint64_t random = 0;
    if (spec->cgroup && (getrandom (&random, sizeof (random), 0) != sizeof (random) ||
                         asprintf (&description->cgroup, "%s/%s.%d.%d.%016" PRIx64, spec->cgroup,
                                   spec->job->spec.name, spec->job->generation, rank, random) < 0))
        description->cgroup = NULL; /* cgroups are optional */
    return description;
}

/* Encode with these words and variables, then free all of them. */
static int finish (struct run_description *description, struct list *words, struct list *variables,
                   int code, char **ret, size_t *ret_length, struct pollux_error *err)
{
    if (code == 0 && (words->short_of_memory || variables->short_of_memory))
        code = fail (err, -ENOMEM, "not enough memory");
    description->command = words->items;
    description->environment = variables->items;
    if (code == 0)
        code = run_description_encode (description, ret, ret_length, err);
    run_spec_free (words->items);
    run_spec_free (variables->items);
    free (description->cgroup);
    free (description);
    return code;
}

/* What only replicas on other machines need: their supervisors tell how they go, choose the port of
 * rank 0, and know the devices by what Slurm gives them. */
static void describe_remote (const struct run_spec *spec, const struct position *position,
                             struct run_description *description)
{
    description->news = spec->url != NULL;
    description->ca = (char *)spec->ca;
    description->auth = spec->munge ? RUN_AUTH_MUNGE : RUN_AUTH_TOKEN;
    description->munge_uid = spec->munge ? (int64_t)geteuid () : description->munge_uid;
    description->master = (char *)"master";
    description->master_first = position->first == 0;
    for (int i = 0; spec->devices && i < position->local_world; i++)
        description->devices.items[description->devices.count++] =
            spec->local_slots ? i : spec->slot_map->slots[position->first + i];
}

static int describe_rank (const struct run_spec *spec, int rank, char **ret, size_t *ret_length,
                          struct pollux_error *err)
{
    const struct launch *launch = spec->job->launch;
    struct list words = {0}, variables = {0};
    struct position position;
    int code = find_position (spec, rank, &position, err);
    struct run_description *description = code == 0 ? start (spec, rank, err) : NULL;
    if (!description)
        return code < 0 ? code : -ENOMEM;
    description->directory = launch->directory;
    description->stop_signal = launch->stop_signal;
    description->grace_s = launch->grace_s;
    description->url = (char *)spec->url;
    description->token = (char *)spec->token;
    description->slots.count = 1;
    description->slots.items[0] = spec->slot_map->slots[rank];
    if (spec->machine)
        machine_cpus (spec->machine, position.machine_node, spec->slot_map->slots[rank],
                      &description->cpus);
    else
        describe_remote (spec, &position, description);
    for (char **at = launch->command; *at; at++)
        add_word (&words, "%s", *at);
    code = put_variables (&variables, spec, &position,
                          spec->machine ? description->cpus.count : spec->cpus, err);
    return finish (description, &words, &variables, code, ret, ret_length, err);
}

/* One mpirun on this machine, with one rank per replica, whose supervisor binds it to CPUs. */
static int describe_mpirun (const struct run_spec *spec, char **ret, size_t *ret_length,
                            struct pollux_error *err)
{
    int world = placement_replicas (spec->job->placement);
    struct list words = {0}, variables = {0};
    struct run_description *description = start (spec, world, err);
    if (!description)
        return -ENOMEM;
    add_word (&words, "%s", spec->mpirun);
    if (geteuid () == 0)
        add_word (&words, "--allow-run-as-root");
    add_word (&words, "-np");
    add_word (&words, "%d", world);
    add_word (&words, "--host");
    add_word (&words, "localhost:%d", world);
    for (const char *const *at = mpirun_options; *at; at++)
        add_word (&words, "%s", *at);
    /* A folder of its own for session files: the mpirun that ends removes the common one in TMPDIR, also while another
     * is about to use it. */
    add_word (&words, "--mca");
    add_word (&words, "orte_tmpdir_base");
    add_word (&words, "%s/%s/%d", spec->directory, spec->job->spec.name, spec->job->generation);
    add_word (&words, "%s", spec->program);
    add_word (&words, "exec");
    add_word (&words, "--mpi");
    add_word (&words, "--run");
    add_word (&words, "%s/%s/%d", spec->directory, spec->job->spec.name, spec->job->generation);
    put_all (&variables, spec->environment);
    put_all (&variables, spec->job->launch->environment);
    description->grace_s = 2; /* its ranks have ended when it is stopped */
    return finish (description, &words, &variables, 0, ret, ret_length, err);
}

int run_spec_describe (const struct run_spec *spec, int rank, char **ret, size_t *ret_length,
                       struct pollux_error *err)
{
    return rank < placement_replicas (spec->job->placement)
               ? describe_rank (spec, rank, ret, ret_length, err)
               : describe_mpirun (spec, ret, ret_length, err);
}
