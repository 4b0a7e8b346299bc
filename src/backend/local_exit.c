/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a generation's end is told: by the rules of verdict.c, after a look for what is not the job's
 * own fault (a port that another program took, a machine in trouble) or only looks like it (ranks
 * that mpirun took with it).
 */
#define _GNU_SOURCE /* strcasestr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/generation.h"
#include "backend/port.h"
#include "base/error.h"

enum {
    COLLISIONS = 3,        /* in succession; then it is not the port's fault */
    COLLISION_TAIL = 8192, /* of a log, where a program says that its port was taken */
};
/* A port that another program took is noticed when the first replica binds it. */
#define COLLISION_US INT64_C (120000000)

/* Does the end of a log say that an address was in use? */
static bool log_tells_of_port (const struct local *local, const struct generation *generation)
{
    static const char *const words[] = {"address already in use", "EADDRINUSE"};
    struct run_name name = {.generation = generation->number};
    char tail[COLLISION_TAIL + 1];
    int file;
    memcpy (name.job, generation->name, NAME_SIZE);
    if (run_open_log (local->root, &name, 0, &file, NULL) < 0)
        return false;
    off_t size = lseek (file, 0, SEEK_END);
    off_t from = size > COLLISION_TAIL ? size - COLLISION_TAIL : 0;
    ssize_t got = pread (file, tail, COLLISION_TAIL, from);
    close (file);
    if (got <= 0)
        return false;
    for (ssize_t i = 0; i < got; i++)
        tail[i] = tail[i] ? tail[i] : ' ';
    tail[got] = '\0';
    return strcasestr (tail, words[0]) || strcasestr (tail, words[1]);
}

/* The job's collisions so far; made if it is missing; NULL: no memory. */
static struct collision *collision_of (struct local *local, int job)
{
    for (int i = 0; i < local->collision_count; i++)
        if (local->collisions[i].job == job)
            return &local->collisions[i];
    size_t size = (size_t)(local->collision_count + 1) * sizeof (struct collision);
    struct collision *collisions = realloc (local->collisions, size);
    if (!collisions)
        return NULL;
    local->collisions = collisions;
    collisions[local->collision_count] = (struct collision){.job = job};
    return &collisions[local->collision_count++];
}

static void forget_collisions (struct local *local, int job)
{
    for (int i = 0; i < local->collision_count; i++)
        if (local->collisions[i].job == job)
            local->collisions[i--] = local->collisions[--local->collision_count];
}

/* Was the generation's port another program's?  All its processes are gone, so whoever listens
 * there now is a stranger; and if that one has gone, too, the log of rank 0 may tell.  Neither is a
 * proof, so a job has this excuse only so often in succession. */
static int taken_port (struct local *local, const struct generation *generation)
{
    if (generation->slot_map.port == 0 || local_now_us () - generation->begun_us > COLLISION_US ||
        (port_is_free (generation->slot_map.port) && !log_tells_of_port (local, generation)))
        return 0;
    struct collision *collision = collision_of (local, generation->job);
    if (!collision || collision->count >= COLLISIONS)
        return 0;
    collision->count++;
    return generation->slot_map.port;
}

/* Why a failure is not the job's own; NULL: it is. */
static const char *find_excuse (struct local *local, const struct generation *generation,
                                struct pollux_error *text)
{
    if (generation->unlucky) {
        for (int i = 0; i < generation->count; i++)
            if (replica_exit_failed (&generation->endings[i]))
                fail (text, 0, "not started: %s", generation->endings[i].status.why);
        return text->text;
    }
    int port = taken_port (local, generation);
    if (port > 0)
        fail (text, 0, "port %d was taken by another program: started again on another one", port);
    return port > 0 ? text->text : NULL;
}

/* Ranks that mpirun's end took with it say so. */
static void blame_mpirun (struct generation *generation)
{
    const struct replica_exit *mpirun = &generation->endings[generation->world];
    struct pollux_error story;
    if (generation->count == generation->world || !replica_exit_failed (mpirun))
        return;
    replica_exit_describe (mpirun, "mpirun", &story);
    for (int i = 0; i < generation->world; i++) {
        struct replica_exit *ending = &generation->endings[i];
        if (ending->lost || (!ending->status.started && !ending->status.stopped))
            snprintf (ending->status.why, sizeof (ending->status.why), "%s", story.text);
    }
}

void local_exit (struct local *local, const struct cluster *cluster, struct generation *generation,
                 struct event *ret)
{
    const struct job *job = cluster->jobs[generation->job];
    struct exit_case given = {
        .endings = generation->endings,
        .count = generation->world,
        .stop_asked = generation->stop == STOP_ASKED,
        .failures = job->failures,
        .max_failures = job->launch->max_failures,
    };
    struct pollux_error excuse;
    bool failed = false;
    for (int i = 0; i < generation->world; i++)
        failed |= replica_exit_failed (&generation->endings[i]);
    blame_mpirun (generation);
    if (failed && !given.stop_asked && job->phase != JOB_CANCELLING)
        given.excuse = find_excuse (local, generation, &excuse);
    *ret = (struct event){.type = EVENT_EXIT, .job = generation->job};
    ret->exit.generation = generation->number;
    ret->exit.kind = exit_judgement (&given, ret->exit.detail);
    if (ret->exit.kind != EXITED_AGAIN)
        forget_collisions (local, generation->job);
}
