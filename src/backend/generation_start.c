/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the runs of a generation.  Before the first: its directory, its seats and its port, in a
 * file, so that a daemon that starts the rest after our death tells them the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/run_spec.h"
#include "backend/generation.h"
#include "backend/port.h"
#include "backend/spawn.h"
#include "base/error.h"
#include "base/file.h"

/* ---- Seats and ports ---------------------------------------------------------------------- */

int generation_seat (struct local *local, const struct cluster *cluster,
                     struct generation *generation)
{
    struct placement placement = cluster->jobs[generation->job]->placement;
    int rank = 0;
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        for (int j = 0; j < share.replicas; j++, rank++) {
            int slot =
                slot_map_take (&local->slot_map, share.node, cluster->nodes[share.node].slots);
            if (slot < 0)
                return slot;
            generation->ranks[rank].node = share.node;
            generation->slot_map.slots[rank] = slot;
        }
    }
    return 0;
}

static bool port_is_ours (const struct local *local, int port)
{
    for (int i = 0; i < local->count; i++)
        if (local->generations[i]->slot_map.port == port)
            return true;
    return false;
}

/* Replicas may come to binding it minutes later; the ports that running generations have been told
 * are not given again. */
static int choose_port (struct local *local, struct pollux_error *err)
{
    for (int i = 0; i < local->port_count; i++) {
        int port = local->port_first + local->next_port++ % local->port_count;
        if (!port_is_ours (local, port) && port_is_free (port))
            return port;
    }
    return fail (err, -EADDRINUSE, "no port from %d to %d is free", local->port_first,
                 local->port_first + local->port_count - 1);
}

/* ---- What must be there ------------------------------------------------------------------- */

/* A directory and those above it, for this user alone. */
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

static struct run_spec run_spec_of (const struct local *local, const struct cluster *cluster,
                                    const struct generation *generation)
{
    return (struct run_spec){
        .cluster = cluster,
        .job = cluster->jobs[generation->job],
        .machine = local->machine,
        .slot_map = &generation->slot_map,
        .base = local->base,
        .checkpoint_dir = local->checkpoints,
        .url = local->url,
        .cgroup = local->cgroup,
        .program = local->program,
        .mpirun = local->mpirun,
        .directory = local->directory,
    };
}

static int prepare (struct local *local, const struct cluster *cluster,
                    struct generation *generation, struct pollux_error *err)
{
    struct run_spec spec = run_spec_of (local, cluster, generation);
    char checkpoint[RUN_PATH_SIZE];
    if (generation->prepared)
        return 0;
    int code = run_prepare (local->root, generation->name, generation->number, err);
    if (code == 0)
        code = run_spec_checkpoint (&spec, checkpoint, err);
    if (code == 0 && make_path (checkpoint, err) < 0)
        code = spec.job->launch->checkpoint_dir ? -EINVAL : -EIO; /* whose choice it was */
    if (code == 0 && generation->slot_map.port == 0) {
        code = choose_port (local, err);
        generation->slot_map.port = code > 0 ? code : 0;
        code = code > 0 ? 0 : code;
    }
    if (code == 0)
        code = run_write_seats (local->root, generation->name, generation->number,
                                &generation->slot_map, err);
    generation->prepared = code == 0;
    return code;
}

/* ---- Spawning ----------------------------------------------------------------------------- */

static int watch (struct local *local, struct rank *rank, struct spawned spawned,
                  struct pollux_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = rank};
    rank->supervisor = spawned.pidfd;
    rank->said = spawned.said;
    rank->phase = RANK_COMING;
    /* Without a place in epoll it is looked at every now and then; nothing is lost by that. */
    if (epoll_ctl (local->epoll, EPOLL_CTL_ADD, spawned.pidfd, &event) < 0)
        return fail (err, -errno, "cannot watch a process: %s", strerror (errno));
    return 0;
}

static int spawn_run (struct local *local, struct generation *generation, int rank,
                      const char *text, size_t length, struct pollux_error *err)
{
    struct run_name name = {.generation = generation->number, .rank = rank};
    struct spawned spawned;
    char *path;
    memcpy (name.job, generation->name, NAME_SIZE);
    if (asprintf (&path, "%s/%s", local->directory, run_path (&name).text) < 0)
        return fail (err, -ENOMEM, "not enough memory");
    char *words[] = {local->program, "exec", "--run", path, NULL};
    int code = spawn (words, text, length, &spawned, err);
    free (path);
    return code < 0 ? code : watch (local, &generation->ranks[rank], spawned, err);
}

/* mpirun's ranks find theirs by their number. */
static int leave_descriptions (struct local *local, const struct run_spec *spec,
                               const struct generation *generation, struct pollux_error *err)
{
    int code = 0;
    for (int i = 0; code == 0 && i < generation->world; i++) {
        struct run_name name = {.generation = generation->number, .rank = i};
        char *text;
        size_t length;
        memcpy (name.job, generation->name, NAME_SIZE);
        code = run_spec_describe (spec, i, &text, &length, err);
        if (code < 0)
            break;
        code = run_write_description (local->root, &name, text, length, err);
        explicit_bzero (text, length); /* the token */
        free (text);
    }
    return code;
}

int generation_start (struct local *local, const struct cluster *cluster,
                      struct generation *generation, int rank, struct pollux_error *err)
{
    struct run_spec spec = run_spec_of (local, cluster, generation);
    char token[1025], *text;
    size_t length;
    if (local->url && local->token &&
        local->token (local->self, generation->name, token, sizeof (token)) == 0)
        spec.token = token;
    int code = prepare (local, cluster, generation, err);
    if (code == 0 && rank == generation->world)
        code = leave_descriptions (local, &spec, generation, err);
    if (code == 0)
        code = run_spec_describe (&spec, rank, &text, &length, err);
    if (code == 0) {
        code = spawn_run (local, generation, rank, text, length, err);
        explicit_bzero (text, length);
        free (text);
    }
    explicit_bzero (token, sizeof (token));
    return code;
}
