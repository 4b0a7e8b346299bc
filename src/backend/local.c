/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops of the local backend: the generation set (generation_set.h) above the processes of this
 * machine, whose pidfds are in one epoll.
 */
#define _GNU_SOURCE
#include "backend/local.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/generation_files.h"
#include "backend/generation_ops.h"
#include "backend/local_private.h"
#include "base/error.h"

/* ---- Opening and freeing ------------------------------------------------------------------ */

static int find_machine (struct local *local, const struct backend_options *options,
                         struct pollux_error *err)
{
    int code = machine_discover (options->nvidia_smi, options->nodes, options->node_count,
                                 &local->machine, err);
    if (code < 0)
        return code;
    if (options->has_groups && options->node_count == 0) /* the groups' nodes are this machine */
        local->machine.node_count = local->machine.cpu_slots = 0;
    size_t count = (size_t)local->machine.node_count;
    local->nodes = calloc (count + 1, sizeof (local->nodes[0]));
    if (!local->nodes)
        return fail (err, -ENOMEM, "no memory for %zu nodes", count);
    for (size_t i = 0; i < count; i++)
        local->nodes[i] = local->machine.nodes[i].node;
    return 0;
}

static int find_cgroup (struct local *local, const struct backend_options *options,
                        struct pollux_error *err)
{
    char cgroup[RUN_PATH_SIZE];
    if (!options->use_cgroups || machine_cgroup (cgroup, NULL) < 0)
        return 0;
    local->cgroup = strdup (cgroup);
    return local->cgroup ? 0 : fail (err, -ENOMEM, "no memory for the local backend");
}

static void local_free (void *self)
{
    struct local *local = self;
    if (!local)
        return;
    generation_set_clear (&local->set);
    for (int i = 0; i < local->leaving_count; i++)
        close (local->leaving[i]);
    free (local->leaving);
    excuse_counts_clear (&local->collisions);
    run_settings_clear (&local->runs);
    free (local->cgroup);
    free (local->nodes);
    free (local->view);
    machine_clear (&local->machine);
    if (local->epoll >= 0)
        close (local->epoll);
    free (local);
}

static int local_open (const struct backend_options *options, void **ret, struct pollux_error *err)
{
    struct local *local = calloc (1, sizeof (*local));
    if (!local)
        return fail (err, -ENOMEM, "no memory for the local backend");
    local->runs.root = local->epoll = -1;
    local->set = (struct generation_set){.carrier = &local_carrier,
                                         .carrier_self = local,
                                         .log = options->log,
                                         .log_self = options->self,
                                         .runs = &local->runs};
    unsigned short random = 0; /* daemons on one machine begin with different ports */
    if (getrandom (&random, sizeof (random), 0) == sizeof (random))
        local->next_port = random;
    int code = find_machine (local, options, err);
    if (code == 0)
        code = run_settings_init (&local->runs, options, err);
    if (code == 0)
        code = find_cgroup (local, options, err);
    if (code == 0 && (local->epoll = epoll_create1 (EPOLL_CLOEXEC)) < 0)
        code = fail (err, -errno, "epoll: %s", strerror (errno));
    if (code == 0 && !(local->view = calloc (1, sizeof (*local->view))))
        code = fail (err, -ENOMEM, "no memory for the local backend");
    if (code < 0)
        local_free (local);
    else
        *ret = local;
    return code;
}

static int local_nodes (void *self, const struct node **ret, struct pollux_error *err)
{
    const struct local *local = self;
    (void)err;
    *ret = local->nodes;
    return local->machine.node_count;
}

/* ---- Steps and events --------------------------------------------------------------------- */

static int local_fd (const void *self)
{
    return ((const struct local *)self)->epoll;
}

static void local_step (void *self, const struct cluster *cluster)
{
    struct local *local = self;
    struct epoll_event events[64];
    int count;
    do {
        count = epoll_wait (local->epoll, events, 64, 0);
        for (int i = 0; i < count; i++) {
            struct rank *rank = events[i].data.ptr;
            if (!rank) {
                local_reap_leaving (local);
                continue;
            }
            rank->notified = true;
            rank->generation->due_us = 0;
            /* A pidfd stays readable; it must not wake the daemon before the run is looked at. */
            epoll_ctl (local->epoll, EPOLL_CTL_DEL, rank->supervisor, NULL);
        }
    } while (count == 64);
    generation_set_step (&local->set, cluster);
}

/* ---- Exit codes ------------------------------------------------------------------------- */

static int local_first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    return run_first_failure (((const struct local *)self)->runs.root, job, generation, false,
                              ret_rank);
}

/* ---- The tables --------------------------------------------------------------------------- */

/* Remove descriptions, which contain tokens, and the logs of old generations and jobs. */
static void local_clean_up (void *self, const struct cluster *cluster,
                            const struct generation *generation)
{
    struct local *local = self;
    if (generation_mpirun (generation))
        run_remove_descriptions (local->runs.root, generation->name, generation->number,
                                 generation->replicas);
    run_tidy (local->runs.root, generation->name, generation->number);
    if (generation_keep_logs (&local->set, generation))
        local_prune (local, cluster);
}

const struct carrier local_carrier = {
    .pause_us = 5000,
    .pause_limit_us = 500000,
    .mpirun = true,
    .start = local_start,
    .look = local_look,
    .refuse = local_refuse,
    .stop = local_stop,
    .mark_stop = local_mark_stop,
    .release = local_release,
    .excuse = local_excuse,
    .forget_excuses = local_forget_excuses,
    .clean_up = local_clean_up,
    .remove = local_remove,
};

/* For generation_ops.h. */
_Static_assert(offsetof (struct local, set) == 0, "the set is the first member");

const struct backend_ops local_backend = {
    .name = "local",
    .summary = "processes of this machine",
    .groups = true,
    GENERATION_OPS,
    GENERATION_FILE_OPS,
    .open = local_open,
    .free = local_free,
    .nodes = local_nodes,
    .recover = local_recover,
    .fd = local_fd,
    .due_us = generation_ops_due_us,
    .step = local_step,
    .next_event = generation_ops_next_event,
    .reconcile = generation_ops_reconcile,
    .act = generation_ops_act,
    .first_failure = local_first_failure,
};
