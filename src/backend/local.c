/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend's outside: what is committed is begun, what has ended is told.  What happens in
 * between is in generation.c, how it is judged in local_exit.c, what an earlier daemon left in
 * local_recover.c.
 *
 * Seats are taken when a START is posted and free again when its EXIT is told, so that what is
 * really free is known here, whatever plans say.
 */
#define _GNU_SOURCE /* asprintf */
#include "backend/local.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "backend/run_spec.h"
#include "backend/generation.h"
#include "backend/port.h"
#include "base/error.h"
#include "base/file.h"

enum {
    KEEP_GENERATIONS = 3,
    KEEP_JOBS = 10000,
    PRUNE_EXITS = 1000, /* a look at each of 20,000 jobs takes 20 ms */
};
#define ORPHAN_US INT64_C (60000000)

int64_t local_now_us (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void local_log (const struct local *local, int level, const char *format, ...)
{
    struct pollux_error text;
    va_list arguments;
    if (!local->log)
        return;
    va_start (arguments, format);
    vsnprintf (text.text, sizeof (text.text), format, arguments);
    va_end (arguments);
    local->log (local->self, level, text.text);
}

/* ---- Making ------------------------------------------------------------------------------- */

/* A copy, or of a missing one the other; NULL: no memory, or both missing. */
static char *copy (const char *text, const char *missing)
{
    const char *from = text ? text : missing;
    return from ? strdup (from) : NULL;
}

static char **copy_list (char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    char **ret = calloc (count + 1, sizeof (ret[0]));
    for (size_t i = 0; ret && i < count; i++) {
        if (!(ret[i] = strdup (list[i]))) {
            run_spec_free (ret);
            return NULL;
        }
    }
    return ret;
}

static int set_paths (struct local *local, const struct local_options *options,
                      struct pollux_error *err)
{
    char state[PATH_MAX], program[PATH_MAX];
    if (!realpath (options->state, state))
        return fail (err, -errno, "%s: %s", file_name (options->state).text, strerror (errno));
    if (!realpath (options->program, program))
        return fail (err, -errno, "%s: %s", file_name (options->program).text, strerror (errno));
    if (asprintf (&local->directory, "%s/run", state) < 0)
        local->directory = NULL;
    if (options->checkpoints)
        local->checkpoints = strdup (options->checkpoints);
    else if (asprintf (&local->checkpoints, "%s/checkpoints", state) < 0)
        local->checkpoints = NULL;
    local->program = strdup (program);
    local->mpirun = copy (options->mpirun, "mpirun");
    local->url = copy (options->url, NULL);
    local->cgroup = copy (options->cgroup, NULL);
    local->base = options->environment ? copy_list (options->environment) : run_spec_base ();
    if (!local->directory || !local->checkpoints || !local->program || !local->mpirun ||
        !local->base || (options->url && !local->url) || (options->cgroup && !local->cgroup))
        return fail (err, -ENOMEM, "no memory for a backend");
    return 0;
}

int local_new (const struct local_options *options, struct local **ret, struct pollux_error *err)
{
    struct local *local = calloc (1, sizeof (*local));
    if (!local)
        return fail (err, -ENOMEM, "no memory for a backend");
    local->root = local->epoll = -1;
    local->machine = options->machine;
    local->token = options->token;
    local->log = options->log;
    local->self = options->self;
    local->port_first = options->port_first ? options->port_first : PORT_FIRST;
    local->port_count = options->port_count ? options->port_count : PORT_COUNT;
    local->keep_generations =
        options->keep_generations ? options->keep_generations : KEEP_GENERATIONS;
    local->keep_jobs = options->keep_jobs ? options->keep_jobs : KEEP_JOBS;
    unsigned short chance = 0; /* so that several daemons do not all begin with the same port */
    if (getrandom (&chance, sizeof (chance), 0) == sizeof (chance))
        local->next_port = chance;
    int code = set_paths (local, options, err);
    if (code == 0)
        code = run_root_open (options->state, &local->root, err);
    if (code == 0 && (local->epoll = epoll_create1 (EPOLL_CLOEXEC)) < 0)
        code = fail (err, -errno, "epoll: %s", strerror (errno));
    if (code == 0 && !(local->view = calloc (1, sizeof (*local->view))))
        code = fail (err, -ENOMEM, "no memory for a backend");
    if (code < 0)
        local_free (local);
    else
        *ret = local;
    return code;
}

void local_free (struct local *local)
{
    if (!local)
        return;
    while (local->count > 0)
        generation_drop (local, local->generations[local->count - 1]);
    free (local->generations);
    free (local->collisions);
    slot_map_clear (&local->slot_map);
    free (local->directory);
    free (local->program);
    free (local->mpirun);
    free (local->checkpoints);
    free (local->url);
    free (local->cgroup);
    free (local->view);
    run_spec_free (local->base);
    if (local->root >= 0)
        close (local->root);
    if (local->epoll >= 0)
        close (local->epoll);
    free (local);
}

int local_fd (const struct local *local)
{
    return local->epoll;
}

int local_count (const struct local *local)
{
    return local->count;
}

int local_root (const struct local *local)
{
    return local->root;
}

void local_stop_all (struct local *local)
{
    local->closing = true;
}

/* ---- Reconciling: what may start ---------------------------------------------------------- */

/* Which slots an orphan has is not known: nobody is started beside it.  But one that does not die
 * must not hold up all for ever, only the job whose name it has. */
static bool has_orphan (const struct local *local, const char *name)
{
    int64_t now_us = local_now_us ();
    for (int i = 0; i < local->count; i++) {
        const struct generation *generation = local->generations[i];
        if (generation->job < 0 &&
            (now_us < generation->begun_us + ORPHAN_US || strcmp (generation->name, name) == 0))
            return true;
    }
    return false;
}

/* Are all slots of a placement free, and their nodes there? */
static bool is_free (const struct local *local, const struct cluster *cluster,
                     struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        const struct node *node = &cluster->nodes[share.node];
        if (!node->available ||
            slot_map_free (&local->slot_map, share.node, node->slots) < share.replicas)
            return false;
    }
    return true;
}

static int start_job (struct local *local, struct loop *loop, int index, struct pollux_error *err)
{
    const struct job *job = loop->cluster.jobs[index];
    struct event event = {.at_us = loop->cluster.now_us, .type = EVENT_START, .job = index};
    event.start.generation = job->generation + 1;
    event.start.placement = job->desired;
    int code = loop_post (loop, &event, err);
    if (code < 0)
        return code;
    struct generation *generation =
        generation_add (local, job->spec.name, job->generation, placement_replicas (job->placement),
                        job->launch->launcher == LAUNCHER_MPI);
    if (!generation)
        return fail (err, -ENOMEM, "no memory to start job %s", job->spec.name);
    generation->job = index;
    code = generation_seat (local, &loop->cluster, generation);
    return code < 0 ? fail (err, code, "no seats for job %s", job->spec.name) : 0;
}

static int reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    struct local *local = self;
    const struct cluster *cluster = &loop->cluster;
    int code = 0;
    local->unsettled = false;
    if (local_now_us () < local->held_us)
        return 0;
    local->held_us = 0; /* also when nothing is to be started: it would be due for ever */
    if (local->closing)
        return 0;
    for (int i = 0; code == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (job->phase == JOB_PENDING && job->desired.count > 0 && job->launch &&
            job->retry_us <= cluster->now_us && is_free (local, cluster, job->desired) &&
            !has_orphan (local, job->spec.name))
            code = start_job (local, loop, cluster->live.indices[i], err);
    }
    return code;
}

/* ---- Acting ------------------------------------------------------------------------------- */

/* Does the journal want this generation to end? */
static bool is_unwanted (const struct local *local, const struct job *job)
{
    return local->closing || job->phase == JOB_CANCELLING ||
           !placement_equal (job->desired, job->placement);
}

static void step_due (struct local *local, const struct cluster *cluster)
{
    int64_t now_us = local_now_us ();
    local->start_until_us = 0;
    for (int i = 0; i < local->count; i++)
        if (local->generations[i]->due_us <= now_us)
            generation_step (local, cluster, local->generations[i], now_us);
}

static int act (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct local *local = self;
    (void)err;
    for (int i = 0; i < local->count; i++) {
        struct generation *generation = local->generations[i];
        if (generation->job >= 0 && !generation->over &&
            is_unwanted (local, cluster->jobs[generation->job]))
            generation_stop (local, generation, STOP_ASKED);
    }
    step_due (local, cluster);
    return 0;
}

struct backend local_backend (struct local *local)
{
    return (struct backend){.reconcile = reconcile, .act = act, .self = local};
}

void local_step (struct local *local, const struct cluster *cluster)
{
    struct epoll_event events[64];
    int count;
    do {
        count = epoll_wait (local->epoll, events, 64, 0);
        for (int i = 0; i < count; i++) {
            struct rank *rank = events[i].data.ptr;
            rank->woken = true;
            rank->generation->due_us = 0;
            /* It stays readable: it must not wake us again before it has been looked at. */
            epoll_ctl (local->epoll, EPOLL_CTL_DEL, rank->supervisor, NULL);
        }
    } while (count == 64);
    step_due (local, cluster);
}

int64_t local_due_us (const struct local *local)
{
    int64_t due_us = local->held_us > 0 ? local->held_us : INT64_MAX;
    for (int i = 0; i < local->count; i++)
        if (local->generations[i]->due_us < due_us)
            due_us = local->generations[i]->due_us;
    return due_us;
}

/* ---- What has happened -------------------------------------------------------------------- */

/* Nothing of it runs: leave no token behind, and of older generations only so many logs. */
static void clean_up (struct local *local, const struct generation *generation)
{
    struct pollux_error err;
    int old = generation->number - local->keep_generations;
    if (generation->count > generation->world)
        run_remove_descriptions (local->root, generation->name, generation->number,
                                 generation->world);
    if (old > 0 && run_remove (local->root, generation->name, old, &err) < 0)
        local_log (local, LOG_WARNING, "job %s: old logs stay: %s", generation->name, err.text);
}

static void end_orphan (struct local *local, struct generation *generation)
{
    char name[NAME_SIZE];
    int number = generation->number;
    bool obsolete = generation->obsolete;
    memcpy (name, generation->name, NAME_SIZE);
    generation_drop (local, generation);
    local->unsettled = true;
    if (obsolete)
        local_remove (local, name, number);
}

int local_next_event (struct local *local, const struct cluster *cluster, struct event *ret)
{
    for (int i = 0; i < local->count; i++) {
        struct generation *generation = local->generations[i];
        if (generation->announce) {
            generation->announce = false;
            *ret = (struct event){.type = EVENT_STARTED, .job = generation->job};
            ret->start.generation = generation->number;
            return 1;
        }
        if (!generation->over)
            continue;
        if (generation->job < 0) {
            end_orphan (local, generation);
            i--;
            continue;
        }
        local_exit (local, cluster, generation, ret);
        clean_up (local, generation);
        generation_drop (local, generation);
        if (++local->exits % PRUNE_EXITS == 0)
            local_prune (local, cluster);
        return 1;
    }
    return 0;
}

bool local_wants_settle (const struct local *local)
{
    return local->unsettled || (local->held_us > 0 && local_now_us () >= local->held_us);
}

void local_reported (struct local *local, const struct cluster *cluster, int job)
{
    for (int i = 0; i < local->count; i++) {
        struct generation *generation = local->generations[i];
        if (generation->job != job || generation->started)
            continue;
        generation->started = true;
        generation->announce = cluster->jobs[job]->spec.adaptive && generation->stop == STOP_NONE;
    }
}
