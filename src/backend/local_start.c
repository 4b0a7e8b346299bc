/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier's start of runs.  Before the first run of a generation, its slots and its port are
 * written to its directory: if this daemon dies, the next one starts the other runs with the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/local_private.h"
#include "backend/run_spec.h"
#include "backend/spawn.h"
#include "base/error.h"

/* ---- Before the first run ----------------------------------------------------------------- */

static struct run_spec run_spec_of (const struct local *local, const struct cluster *cluster,
                                    const struct generation *generation)
{
    return (struct run_spec){
        .cluster = cluster,
        .job = cluster->jobs[generation->job],
        .machine = &local->machine,
        .slot_map = &generation->slot_map,
        .environment = local->runs.environment,
        .checkpoint_dir = local->runs.checkpoints,
        .url = local->runs.url,
        .cgroup = local->cgroup,
        .program = local->runs.program,
        .mpirun = "mpirun",
        .directory = local->runs.directory,
    };
}

static int prepare (struct local *local, const struct cluster *cluster,
                    struct generation *generation, struct pollux_error *err)
{
    struct run_spec spec = run_spec_of (local, cluster, generation);
    if (generation->prepared)
        return 0;
    int code = run_prepare (local->runs.root, generation->name, generation->number, err);
    if (code == 0)
        code = run_spec_make_checkpoint (&spec, err);
    if (code == 0 && generation->slot_map.port == 0) {
        code = local_choose_port (local, err);
        generation->slot_map.port = code > 0 ? code : 0;
        code = code > 0 ? 0 : code;
    }
    if (code == 0)
        code = run_write_slot_map (local->runs.root, generation->name, generation->number,
                                   &generation->slot_map, err);
    generation->prepared = code == 0;
    return code;
}

/* ---- Spawning ----------------------------------------------------------------------------- */

static int spawn_run (struct local *local, struct generation *generation, int rank,
                      const char *text, size_t length, struct pollux_error *err)
{
    struct run_name name = generation_run_name (generation, rank);
    struct rank *run = &generation->ranks[rank];
    struct spawned spawned;
    char *path, variable[RUN_ID_SIZE + 32];
    snprintf (variable, sizeof (variable), "POLLUX_SUPERVISOR=%s",
              run_family (local->runs.root, &name).text);
    if (asprintf (&path, "%s/%s", local->runs.directory, run_path (&name).text) < 0)
        return fail (err, -ENOMEM, "not enough memory");
    char *words[] = {local->runs.program, "exec", "--run", path, NULL};
    int code = spawn (words, variable, text, length, &spawned, err);
    free (path);
    if (code < 0)
        return code;
    local_watch (local, run, spawned.pidfd);
    run->supervisor_error = spawned.error;
    run->phase = RANK_STARTING;
    return 0;
}

/* Ranks that mpirun starts read theirs from JOB/GENERATION/RANK.json. */
static int write_descriptions (struct local *local, const struct run_spec *spec,
                               const struct generation *generation, struct pollux_error *err)
{
    int code = 0;
    for (int i = 0; code == 0 && i < generation->replicas; i++) {
        struct run_name name = generation_run_name (generation, i);
        char *text;
        size_t length;
        code = run_spec_describe (spec, i, &text, &length, err);
        if (code < 0)
            break;
        code = run_write_description (local->runs.root, &name, text, length, err);
        explicit_bzero (text, length); /* it contains the token */
        free (text);
    }
    return code;
}

static int start_rank (struct local *local, const struct cluster *cluster,
                       struct generation *generation, int rank, struct pollux_error *err)
{
    struct run_spec spec = run_spec_of (local, cluster, generation);
    char token[1025], *text;
    size_t length;
    spec.token = run_settings_token (&local->runs, generation->name, generation->number, token,
                                     sizeof (token));
    int code = prepare (local, cluster, generation, err);
    if (code == 0 && rank == generation->replicas)
        code = write_descriptions (local, &spec, generation, err);
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

int local_start (void *self, const struct cluster *cluster, struct generation *generation,
                 int share, struct pollux_error *err)
{
    struct local *local = self;
    int first = generation->shares[share].first, end = first + generation->shares[share].count;
    int code = 0, started = 0;
    for (int i = first; code == 0 && i < end; i++) {
        if (generation->ranks[i].phase != RANK_WAITING)
            continue;
        if (started++ > 0 && !generation_has_time (&local->set))
            break;
        code = start_rank (local, cluster, generation, i, err);
    }
    return code;
}
