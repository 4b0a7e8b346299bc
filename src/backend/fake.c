/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test double: generations are entries of a list, and their events are decided by the job's
 * command.  Nothing outlives the process: after a restart, recover lets every job that the journal
 * says runs, run again.
 */
#define _GNU_SOURCE /* memfd_create */
#include "backend/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/run_spec.h"
#include "base/array.h"
#include "base/error.h"

struct fake_generation {
    int job, number;
    bool started; /* STARTED was reported, or need not be */
    bool reports_started, over;
    enum exit_kind kind; /* valid if over */
};

struct fake {
    struct node *nodes;
    int node_count;
    struct fake_generation *generations;
    int count, capacity;
    bool stopping;
    int log; /* a file in memory; -1: none */
};

static const struct node default_node = {
    .name = "fake", .type = "fake", .slots = 4, .available = true};

static const char log_text[] = "the fake backend runs no program\n";

/* ---- Opening and freeing ------------------------------------------------------------------ */

static void fake_free (void *self)
{
    struct fake *fake = self;
    if (!fake)
        return;
    if (fake->log >= 0)
        close (fake->log);
    free (fake->nodes);
    free (fake->generations);
    free (fake);
}

static int fake_open (const struct backend_options *options, void **ret, struct pollux_error *err)
{
    const struct node *nodes = options->node_count > 0 ? options->nodes : &default_node;
    int count = options->node_count > 0 ? options->node_count : 1;
    struct fake *fake = calloc (1, sizeof (*fake));
    if (!fake)
        return fail (err, -ENOMEM, "no memory for the fake backend");
    fake->nodes = calloc ((size_t)count, sizeof (fake->nodes[0]));
    fake->log = memfd_create ("pollux-fake-log", MFD_CLOEXEC);
    if (!fake->nodes || fake->log < 0 || write (fake->log, log_text, strlen (log_text)) < 0) {
        fake_free (fake);
        return fail (err, -ENOMEM, "no memory for the fake backend");
    }
    memcpy (fake->nodes, nodes, (size_t)count * sizeof (nodes[0]));
    for (int i = 0; i < count; i++)
        if (!*fake->nodes[i].type)
            strcpy (fake->nodes[i].type, default_node.type);
    fake->node_count = count;
    *ret = fake;
    return 0;
}

static int fake_nodes (void *self, const struct node **ret, struct pollux_error *err)
{
    const struct fake *fake = self;
    (void)err;
    *ret = fake->nodes;
    return fake->node_count;
}

/* ---- Generations -------------------------------------------------------------------------- */

static int add (struct fake *fake, const struct job *job, int index, struct pollux_error *err)
{
    const char *command = job->launch->command[0];
    struct fake_generation *generations =
        array_grow (fake->generations, fake->count, &fake->capacity, sizeof (generations[0]));
    if (!generations)
        return fail (err, -ENOMEM, "no memory to start job %s", job->spec.name);
    fake->generations = generations;
    bool fails = strcmp (command, "false") == 0;
    fake->generations[fake->count++] = (struct fake_generation){
        .job = index,
        .number = job->generation,
        .started = !job->spec.adaptive,
        .reports_started = !job->spec.adaptive,
        .over = fails || strcmp (command, "true") == 0,
        .kind = !fails                                      ? EXITED_FINISHED
                : job->failures < job->launch->max_failures ? EXITED_FAILED
                                                            : EXITED_GAVE_UP,
    };
    return 0;
}

static int fake_recover (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct fake *fake = self;
    int code = 0;
    for (int i = 0; code == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || !job->launch)
            continue;
        code = add (fake, job, cluster->live.indices[i], err);
        if (code == 0) {
            fake->generations[fake->count - 1].started = true;
            fake->generations[fake->count - 1].reports_started = false;
        }
    }
    return code;
}

/* Slots of a node that no running job has. */
static int free_slots (const struct cluster *cluster, int node)
{
    int slots = cluster->nodes[node].available ? cluster->nodes[node].slots : 0;
    for (int i = 0; i < cluster->live.count; i++) {
        struct placement placement = cluster->live.jobs[i]->placement;
        for (int j = 0; j < placement.count; j++)
            slots -= placement.shares[j].node == node ? placement.shares[j].replicas : 0;
    }
    return slots;
}

static bool is_free (const struct cluster *cluster, struct placement placement)
{
    for (int i = 0; i < placement.count; i++)
        if (free_slots (cluster, placement.shares[i].node) < placement.shares[i].replicas)
            return false;
    return true;
}

static int fake_reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    struct fake *fake = self;
    const struct cluster *cluster = &loop->cluster;
    int code = 0;
    for (int i = 0; code == 0 && !fake->stopping && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        int index = cluster->live.indices[i];
        if (job->phase != JOB_PENDING || job->desired.count == 0 || !job->launch ||
            job->retry_us > cluster->now_us || !is_free (cluster, job->desired))
            continue;
        struct event event = {.at_us = cluster->now_us, .type = EVENT_START, .job = index};
        event.start.generation = job->generation + 1;
        event.start.placement = job->desired;
        code = loop_post (loop, &event, err);
        if (code == 0)
            code = add (fake, job, index, err);
    }
    return code;
}

static int fake_act (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct fake *fake = self;
    (void)err;
    for (int i = 0; i < fake->count; i++) {
        struct fake_generation *generation = &fake->generations[i];
        const struct job *job = cluster->jobs[generation->job];
        if (!generation->over && (fake->stopping || job->phase == JOB_CANCELLING ||
                                  !placement_equal (job->desired, job->placement))) {
            generation->over = true;
            generation->kind = EXITED_STOPPED;
            generation->reports_started = false;
        }
    }
    return 0;
}

/* ---- Events ------------------------------------------------------------------------------- */

static int fake_fd (const void *self)
{
    (void)self;
    return -1;
}

/* Everything happens in reconcile and act, after which the daemon asks for events. */
static int64_t fake_due_us (const void *self)
{
    (void)self;
    return INT64_MAX;
}

static void fake_step (void *self, const struct cluster *cluster)
{
    (void)self;
    (void)cluster;
}

static bool fake_wants_settle (const void *self)
{
    (void)self;
    return false;
}

static int fake_next_event (void *self, const struct cluster *cluster, struct event *ret)
{
    struct fake *fake = self;
    (void)cluster;
    for (int i = 0; i < fake->count; i++) {
        struct fake_generation *generation = &fake->generations[i];
        *ret = (struct event){.job = generation->job};
        if (generation->reports_started) {
            generation->reports_started = false;
            ret->type = EVENT_STARTED;
            ret->start.generation = generation->number;
            return 1;
        }
        if (generation->over) {
            ret->type = EVENT_EXIT;
            ret->exit.generation = generation->number;
            ret->exit.kind = generation->kind;
            if (generation->kind == EXITED_FAILED || generation->kind == EXITED_GAVE_UP)
                strcpy (ret->exit.detail, "replica 0 ended with exit code 1");
            *generation = fake->generations[--fake->count];
            return 1;
        }
    }
    return 0;
}

static void fake_reported (void *self, const struct cluster *cluster, int job)
{
    struct fake *fake = self;
    (void)cluster;
    for (int i = 0; i < fake->count; i++) {
        struct fake_generation *generation = &fake->generations[i];
        if (generation->job == job && !generation->started && !generation->over)
            generation->started = generation->reports_started = true;
    }
}

static int fake_news (void *self, const struct cluster *cluster, int job,
                      const struct run_news *news, struct pollux_error *err)
{
    (void)self;
    (void)cluster;
    (void)job;
    (void)news;
    (void)err;
    return 0;
}

static void fake_stop_all (void *self)
{
    ((struct fake *)self)->stopping = true;
}

static int fake_count (const void *self)
{
    return ((const struct fake *)self)->count;
}

/* ---- Logs --------------------------------------------------------------------------------- */

/* The same file for all. */
static int fake_open_log (void *self, const char *job, int generation, int rank, int number,
                          int *ret, struct pollux_error *err)
{
    const struct fake *fake = self;
    char path[32];
    (void)generation;
    (void)rank;
    if (number > 0)
        return fail (err, -ENOENT, "job %.63s: there is no log %d", job, number);
    snprintf (path, sizeof (path), "/proc/self/fd/%d", fake->log);
    int file = open (path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return fail (err, -errno, "%s: %s", path, strerror (errno));
    *ret = file;
    return 0;
}

static int fake_oldest_log (void *self, const char *job, int last, int *ret)
{
    (void)self;
    (void)job;
    (void)last;
    *ret = 1;
    return 0;
}

static char *fake_checkpoint_dir (void *self, const struct job *job)
{
    (void)self;
    return run_spec_checkpoint_dir (NULL, job); /* only a job's own */
}

static int fake_first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    (void)self;
    (void)job;
    (void)generation;
    *ret_rank = 0;
    return 0;
}

const struct backend_ops fake_backend = {
    .name = "fake",
    .summary = "no processes, for tests",
    .groups = true,
    .open = fake_open,
    .free = fake_free,
    .nodes = fake_nodes,
    .recover = fake_recover,
    .fd = fake_fd,
    .due_us = fake_due_us,
    .step = fake_step,
    .next_event = fake_next_event,
    .wants_settle = fake_wants_settle,
    .reconcile = fake_reconcile,
    .act = fake_act,
    .reported = fake_reported,
    .news = fake_news,
    .stop_all = fake_stop_all,
    .count = fake_count,
    .open_log = fake_open_log,
    .oldest_log = fake_oldest_log,
    .checkpoint_dir = fake_checkpoint_dir,
    .first_failure = fake_first_failure,
};
