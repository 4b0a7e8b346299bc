/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the cluster to generations, and from generations to events.  reconcile posts a START for each
 * job whose desired slots are free; act stops what the journal no longer wants and steps the rest;
 * next_event reports STARTED and EXIT.  generation.c has the life of one generation.
 */
#include "backend/generation_set.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/generation.h"
#include "base/clock.h"
#include "base/error.h"

/* An orphan that does not die within this time delays only the job of its name. */
#define ORPHAN_US INT64_C (60000000)

void generation_log (const struct generation_set *set, int level, const char *format, ...)
{
    struct pollux_error text;
    va_list arguments;
    if (!set->log)
        return;
    va_start (arguments, format);
    vsnprintf (text.text, sizeof (text.text), format, arguments);
    va_end (arguments);
    set->log (set->log_self, level, text.text);
}

void generation_set_clear (struct generation_set *set)
{
    while (set->count > 0)
        generation_drop (set, set->items[set->count - 1]);
    free (set->items);
    slot_map_clear (&set->slot_map);
    set->items = NULL;
    set->capacity = 0;
}

/* Add the current generation of a job. */
static int add_job (struct generation_set *set, const struct cluster *cluster, int index,
                    struct generation **ret, struct pollux_error *err)
{
    const struct job *job = cluster->jobs[index];
    struct generation *generation = generation_add (set, job->spec.name, job->generation,
                                                    job->placement, job->launch->launcher);
    if (!generation)
        return fail (err, -ENOMEM, "no memory for the runs of job %s", job->spec.name);
    generation->job = index;
    *ret = generation;
    return 0;
}

/* ---- Recovering --------------------------------------------------------------------------- */

int generation_set_recover (struct generation_set *set, const struct cluster *cluster,
                            int (*adopt) (void *self, struct generation *generation,
                                          struct pollux_error *err),
                            void *self, struct pollux_error *err)
{
    size_t size = (size_t)cluster->live.count + 1;
    struct generation **without_slots = calloc (size, sizeof (without_slots[0]));
    int count = 0, code = 0;
    if (!without_slots)
        return fail (err, -ENOMEM, "no memory for %d jobs", cluster->live.count);
    for (int i = 0; code >= 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || !job->launch)
            continue;
        struct generation *generation;
        code = add_job (set, cluster, cluster->live.indices[i], &generation, err);
        if (code < 0)
            break;
        generation->recovered = true;
        without_slots[count] = generation;
        code = adopt (self, generation, err);
        count += code == 0;
    }
    for (int i = 0; code >= 0 && i < count; i++)
        if (generation_take_slots (set, cluster, without_slots[i]) < 0)
            generation_stop (set, without_slots[i], STOP_ASKED);
    free (without_slots);
    return code < 0 ? code : 0;
}

/* ---- Reconciling: what may start ---------------------------------------------------------- */

/* The slots of an orphan are not known, so nothing is started beside it. */
static bool has_orphan (const struct generation_set *set, const char *name)
{
    int64_t now_us = clock_monotonic_us ();
    for (int i = 0; i < set->count; i++) {
        const struct generation *generation = set->items[i];
        if (generation->job < 0 &&
            (now_us < generation->since_us + ORPHAN_US || strcmp (generation->name, name) == 0))
            return true;
    }
    return false;
}

/* Are all slots of a placement free, and all its nodes available? */
static bool is_free (const struct generation_set *set, const struct cluster *cluster,
                     struct placement placement)
{
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        const struct node *node = &cluster->nodes[share.node];
        if (!node->available ||
            slot_map_free (&set->slot_map, share.node, node->slots) < share.replicas)
            return false;
    }
    return true;
}

static int start_job (struct generation_set *set, struct loop *loop, int index,
                      struct pollux_error *err)
{
    const struct job *job = loop->cluster.jobs[index];
    struct event event = {.at_us = loop->cluster.now_us, .type = EVENT_START, .job = index};
    event.start.generation = job->generation + 1;
    event.start.placement = job->desired;
    int code = loop_post (loop, &event, err);
    struct generation *generation;
    if (code == 0)
        code = add_job (set, &loop->cluster, index, &generation, err);
    if (code < 0)
        return code;
    code = generation_take_slots (set, &loop->cluster, generation);
    return code < 0 ? fail (err, code, "no slots for job %s", job->spec.name) : 0;
}

static bool may_start (const struct generation_set *set, const struct job *job)
{
    const struct carrier *carrier = set->carrier;
    return (!set->may_start || set->may_start (set->may_start_self, job)) &&
           (!carrier->may_start || carrier->may_start (set->carrier_self));
}

int generation_set_reconcile (struct generation_set *set, struct loop *loop,
                              struct pollux_error *err)
{
    const struct cluster *cluster = &loop->cluster;
    int code = 0;
    set->wants_settle = false;
    if (clock_monotonic_us () < set->hold_until_us)
        return 0;
    set->hold_until_us = 0; /* even if nothing starts: otherwise it would be due for ever */
    if (set->stopping)
        return 0;
    for (int i = 0; code == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        int index = cluster->live.indices[i];
        if (job->phase == JOB_PENDING && job->desired.count > 0 && job->launch &&
            job->retry_us <= cluster->now_us && is_free (set, cluster, job->desired) &&
            !has_orphan (set, job->spec.name) && may_start (set, job))
            code = start_job (set, loop, index, err);
    }
    return code;
}

/* ---- Acting ------------------------------------------------------------------------------- */

/* Does the journal want this job's generation to end? */
static bool is_unwanted (const struct generation_set *set, const struct job *job)
{
    return set->stopping || job->phase == JOB_CANCELLING ||
           !placement_equal (job->desired, job->placement);
}

/* The first node of a generation that is being returned, or is off, although the generation runs there: the time of a notice
 * is over, or the node is gone.  NULL: none. */
static const struct node *gone_node (const struct cluster *cluster,
                                     const struct generation *generation)
{
    for (int i = 0; i < generation->replicas; i++) {
        int node = generation->ranks[i].node;
        enum power_state state = cluster->node_power[node].state;
        if (state == POWER_STOPPING || state == POWER_OFF)
            return &cluster->nodes[node];
    }
    return NULL;
}

void generation_set_step (struct generation_set *set, const struct cluster *cluster)
{
    int64_t now_us = clock_monotonic_us ();
    set->start_until_us = 0;
    for (int i = 0; i < set->count; i++)
        if (set->items[i]->due_us <= now_us)
            generation_step (set, cluster, set->items[i], now_us);
}

void generation_set_act (struct generation_set *set, const struct cluster *cluster)
{
    for (int i = 0; i < set->count; i++) {
        struct generation *generation = set->items[i];
        if (generation->job < 0 || generation->over)
            continue;
        const struct node *gone =
            generation->stop == STOP_NONE ? gone_node (cluster, generation) : NULL;
        if (gone) {
            memcpy (generation->gone, gone->name, NAME_SIZE);
            generation_stop (set, generation, STOP_GONE);
        }
        if (is_unwanted (set, cluster->jobs[generation->job]))
            generation_stop (set, generation, STOP_ASKED);
    }
    generation_set_step (set, cluster);
}

int64_t generation_set_due_us (const struct generation_set *set)
{
    int64_t due_us = set->hold_until_us > 0 ? set->hold_until_us : INT64_MAX;
    for (int i = 0; i < set->count; i++)
        if (set->items[i]->due_us < due_us)
            due_us = set->items[i]->due_us;
    return due_us;
}

/* ---- What has happened -------------------------------------------------------------------- */

static void end_orphan (struct generation_set *set, struct generation *generation)
{
    char name[NAME_SIZE];
    int number = generation->number;
    bool obsolete = generation->obsolete;
    memcpy (name, generation->name, NAME_SIZE);
    generation_drop (set, generation);
    set->wants_settle = true;
    if (obsolete)
        set->carrier->remove (set->carrier_self, name, number);
}

int generation_set_next_event (struct generation_set *set, const struct cluster *cluster,
                               struct event *ret)
{
    for (int i = 0; i < set->count; i++) {
        struct generation *generation = set->items[i];
        if (generation->reports_started) {
            generation->reports_started = false;
            *ret = (struct event){.type = EVENT_STARTED, .job = generation->job};
            ret->start.generation = generation->number;
            return 1;
        }
        if (!generation->over)
            continue;
        if (generation->job < 0) {
            end_orphan (set, generation);
            i--;
            continue;
        }
        generation_exit (set, cluster, generation, ret);
        set->carrier->clean_up (set->carrier_self, cluster, generation);
        generation_drop (set, generation);
        return 1;
    }
    return 0;
}

bool generation_set_wants_settle (const struct generation_set *set)
{
    return set->wants_settle ||
           (set->hold_until_us > 0 && clock_monotonic_us () >= set->hold_until_us);
}

void generation_set_reported (struct generation_set *set, const struct cluster *cluster, int job)
{
    for (int i = 0; i < set->count; i++) {
        struct generation *generation = set->items[i];
        if (generation->job != job || generation->started)
            continue;
        generation->started = true;
        generation->reports_started =
            cluster->jobs[job]->spec.adaptive && generation->stop == STOP_NONE;
    }
}

int generation_set_news (struct generation_set *set, int job, const struct run_news *news,
                         struct pollux_error *err)
{
    struct generation *generation = generation_find (set, job);
    if (!generation || generation->number != news->generation)
        return 0; /* START is committed, and its generation not added yet; or it is over */
    if (news->rank >= generation->replicas)
        return fail (err, -EINVAL, "job %s: rank %d of %d replicas", generation->name, news->rank,
                     generation->replicas);
    if (set->carrier->news)
        set->carrier->news (set->carrier_self, generation, news);
    generation->due_us = 0;
    return 0;
}
