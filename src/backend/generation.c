/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a generation's runs, in steps that never wait.  A step looks at the runs that may
 * have changed and does what follows.  The carrier holds all state that matters, so a later step,
 * or the next daemon, can do what this one did not.
 *
 * Pidfds report ends.  Everything else is found by looking again, with pauses that double: that a
 * run has appeared, that its command runs, that nothing is left of a lost run.
 */
#include "backend/generation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

/* For starts in one step.  A start takes 0.5 ms, or 10 ms where the disk is busy. */
#define STARTS_US INT64_C (4000)
/* mpirun normally ends by itself after its ranks; it is stopped after this time. */
#define MPIRUN_END_US INT64_C (2000000)
/* After the carrier failed, by a full disk for example. */
#define HOLD_US INT64_C (10000000)

/* ---- Adding and dropping ------------------------------------------------------------------ */

static void generation_free (struct generation_set *set, struct generation *generation)
{
    for (int i = 0; generation->ranks && i < generation->runs; i++) {
        struct rank *rank = &generation->ranks[i];
        set->carrier->release (set->carrier_self, rank);
        if (generation->slot_map.slots && i < generation->replicas &&
            generation->slot_map.slots[i] >= 0)
            slot_map_release (&set->slot_map, rank->node, generation->slot_map.slots[i]);
    }
    for (int i = 0;
         generation->shares && set->carrier->release_share && i < generation->share_count; i++)
        set->carrier->release_share (set->carrier_self, generation, i);
    free (generation->ranks);
    free (generation->exits);
    free (generation->shares);
    free (generation->slot_map.slots);
    free (generation);
}

/* One share per node and, where there is one, the share of mpirun; or one share of all ranks. */
static void set_shares (struct generation *generation, struct placement placement, bool whole)
{
    int rank = 0;
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        if (i == 0 || !whole)
            generation->shares[generation->share_count++] =
                (struct generation_share){.first = rank, .node = share.node};
        generation->shares[generation->share_count - 1].count += share.replicas;
        for (int j = 0; j < share.replicas; j++)
            generation->ranks[rank++].node = share.node;
    }
    if (rank < generation->runs)
        generation->shares[generation->share_count++] =
            (struct generation_share){.first = rank, .count = 1, .node = placement.shares[0].node};
}

struct generation *generation_add (struct generation_set *set, const char *name, int number,
                                   struct placement placement, enum launcher launcher)
{
    struct generation **items =
        array_grow (set->items, set->count, &set->capacity, sizeof (items[0]));
    struct generation *generation = calloc (1, sizeof (*generation));
    if (items)
        set->items = items;
    if (!items || !generation) {
        free (generation);
        return NULL;
    }
    int replicas = placement_replicas (placement);
    bool mpirun = launcher == LAUNCHER_MPI && set->carrier->mpirun;
    generation->number = number;
    generation->launcher = launcher;
    generation->replicas = generation->slot_map.count = replicas;
    generation->runs = replicas + mpirun;
    generation->since_us = clock_monotonic_us ();
    generation->pause_us = set->carrier->pause_us;
    generation->ranks = calloc ((size_t)generation->runs, sizeof (struct rank));
    generation->exits = calloc ((size_t)generation->runs, sizeof (struct replica_exit));
    generation->shares = calloc ((size_t)placement.count + 1, sizeof (struct generation_share));
    generation->slot_map.slots = malloc ((size_t)replicas * sizeof (int));
    if (!generation->ranks || !generation->exits || !generation->shares ||
        !generation->slot_map.slots) {
        free (generation->ranks);
        generation->ranks = NULL;
        generation_free (set, generation);
        return NULL;
    }
    snprintf (generation->name, NAME_SIZE, "%s", name);
    for (int i = 0; i < generation->runs; i++)
        generation->ranks[i] =
            (struct rank){.generation = generation,
                          .phase = mpirun && i < replicas ? RANK_STARTING : RANK_WAITING,
                          .supervisor = -1,
                          .supervisor_error = -1};
    for (int i = 0; i < replicas; i++)
        generation->slot_map.slots[i] = -1;
    set_shares (generation, placement, launcher == LAUNCHER_MPI && set->one_mpi_share);
    set->items[set->count++] = generation;
    return generation;
}

void generation_drop (struct generation_set *set, struct generation *generation)
{
    int at = 0;
    while (set->items[at] != generation)
        at++;
    set->items[at] = set->items[--set->count];
    generation_free (set, generation);
}

int generation_take_slots (struct generation_set *set, const struct cluster *cluster,
                           struct generation *generation)
{
    int code = 0;
    for (int i = 0; i < generation->replicas; i++) {
        int node = generation->ranks[i].node;
        int slot = slot_map_take (&set->slot_map, node, cluster->nodes[node].slots);
        if (slot == -ENOSPC) {
            code = slot;
            slot = slot_map_take (&set->slot_map, node, SLOTS_LIMIT);
        }
        if (slot < 0)
            return slot;
        generation->slot_map.slots[i] = slot;
    }
    return code;
}

bool generation_hold_slots (struct generation_set *set, struct generation *generation,
                            const struct run_slot_map *slot_map)
{
    bool fits = slot_map->count == generation->replicas;
    for (int i = 0; fits && i < generation->replicas; i++) {
        int slot = slot_map->slots[i];
        fits = slot_map_hold (&set->slot_map, generation->ranks[i].node, slot) == 0;
        generation->slot_map.slots[i] = fits ? slot : -1;
    }
    if (fits)
        generation->slot_map.port = slot_map->port;
    return fits;
}

/* ---- For carriers ------------------------------------------------------------------------- */

bool rank_is_gone (const struct rank *rank)
{
    return rank->phase == RANK_ENDED || rank->phase == RANK_KILLING;
}

struct rank *generation_mpirun (const struct generation *generation)
{
    return generation->runs > generation->replicas ? &generation->ranks[generation->replicas]
                                                   : NULL;
}

void generation_end_rank (struct generation_set *set, struct generation *generation, int rank,
                          const struct run_status *status, bool lost)
{
    set->carrier->release (set->carrier_self, &generation->ranks[rank]);
    generation->ranks[rank].phase = RANK_ENDED;
    generation->ranks[rank].ended_us = clock_monotonic_us ();
    generation->exits[rank] = (struct replica_exit){.status = *status, .lost = lost};
}

void generation_look_soon (const struct generation_set *set, struct generation *generation)
{
    generation->pause_us = set->carrier->pause_us;
}

struct generation *generation_find (const struct generation_set *set, int job)
{
    for (int i = 0; job >= 0 && i < set->count; i++)
        if (set->items[i]->job == job)
            return set->items[i];
    return NULL;
}

struct generation *generation_find_run (const struct generation_set *set,
                                        const struct run_name *name)
{
    for (int i = 0; i < set->count; i++)
        if (set->items[i]->number == name->generation &&
            strcmp (set->items[i]->name, name->job) == 0)
            return set->items[i];
    return NULL;
}

struct run_name generation_run_name (const struct generation *generation, int rank)
{
    struct run_name name = {.generation = generation->number, .rank = rank};
    memcpy (name.job, generation->name, NAME_SIZE);
    return name;
}

struct generation_share *generation_share_of (const struct generation *generation, int rank)
{
    struct generation_share *share = generation->shares;
    while (rank >= share->first + share->count)
        share++;
    return share;
}

void generation_carrier_failed (struct generation_set *set, struct generation *generation)
{
    generation->carrier_failed = true;
    set->hold_until_us = clock_monotonic_us () + HOLD_US;
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* Must the run be looked at although no pidfd reports a change? */
static bool must_look (const struct rank *run)
{
    return run->phase == RANK_STARTING || run->phase == RANK_KILLING || run->notified ||
           (run->phase == RANK_WAITING && run->error_logged) ||
           (run->phase == RANK_RUNNING && (!run->command_runs || run->supervisor < 0));
}

/* A step starts or refuses at least one run, and no further one after STARTS_US: requests of
 * clients wait meanwhile. */
bool generation_has_time (struct generation_set *set)
{
    int64_t now_us = clock_monotonic_us ();
    if (set->start_until_us == 0)
        set->start_until_us = now_us + STARTS_US;
    return now_us < set->start_until_us;
}

/* The first rank of a share that is to be started, or -1. */
static int first_waiting (const struct generation *generation, int share)
{
    int rank = generation->shares[share].first, end = rank + generation->shares[share].count;
    while (rank < end && generation->ranks[rank].phase != RANK_WAITING)
        rank++;
    return rank < end ? rank : -1;
}

/* Start the runs of a share that wait, or refuse them if the generation is being stopped. */
static void start_share (struct generation_set *set, const struct cluster *cluster,
                         struct generation *generation, int share)
{
    struct pollux_error err = {.text = ""};
    int rank = first_waiting (generation, share);
    if (rank < 0)
        return;
    if (!generation->ranks[rank].error_logged)
        generation_look_soon (set, generation);
    if (generation->stop != STOP_NONE) {
        int end = generation->shares[share].first + generation->shares[share].count;
        for (; rank < end && generation_has_time (set); rank++)
            if (generation->ranks[rank].phase == RANK_WAITING)
                set->carrier->refuse (set->carrier_self, generation, rank, true, "");
        return;
    }
    if (!generation_has_time (set))
        return;
    int code = set->carrier->start (set->carrier_self, cluster, generation, share, &err);
    rank = first_waiting (generation, share);
    if (code == 0 || rank < 0)
        return;
    if (code != -EINVAL)
        generation_carrier_failed (set, generation);
    set->carrier->refuse (set->carrier_self, generation, rank, false, err.text);
}

static void look_at_rank (struct generation_set *set, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct pollux_error err = {.text = ""};
    if (run->phase == RANK_WAITING || !must_look (run) ||
        set->carrier->look (set->carrier_self, generation, rank, &err) == 0 || run->error_logged)
        return;
    run->error_logged = true;
    generation_log (set, LOG_ERR, "%s; looking again", err.text);
}

/* Runs that this step starts are looked at by the next one. */
static void step_share (struct generation_set *set, const struct cluster *cluster,
                        struct generation *generation, int share)
{
    int first = generation->shares[share].first, end = first + generation->shares[share].count;
    for (int i = first; i < end; i++)
        look_at_rank (set, generation, i);
    start_share (set, cluster, generation, share);
}

/* Has a run ended in such a way that the others cannot continue? */
static bool must_stop (const struct generation *generation)
{
    const struct rank *mpirun = generation_mpirun (generation);
    int ended = 0;
    for (int i = 0; i < generation->replicas; i++) {
        const struct run_status *status = &generation->exits[i].status;
        if (generation->ranks[i].phase == RANK_KILLING)
            return true;
        if (generation->ranks[i].phase != RANK_ENDED)
            continue;
        ended++;
        if (generation->exits[i].lost || status->code != 0 || status->signal != 0)
            return true;
    }
    return mpirun && ended < generation->replicas && rank_is_gone (mpirun);
}

void generation_stop (struct generation_set *set, struct generation *generation,
                      enum stop_reason reason)
{
    if (generation->stop != STOP_NONE)
        return;
    generation->stop = reason;
    generation->due_us = 0;
    generation_look_soon (set, generation);
    if (reason == STOP_ASKED)
        set->carrier->mark_stop (set->carrier_self, generation);
}

/* Replicas are asked to stop, mpirun is not: it would kill them within seconds. */
static void stop_runs (struct generation_set *set, struct generation *generation, int64_t now_us)
{
    bool mpirun = generation_mpirun (generation);
    int shares = generation->share_count - mpirun;
    for (int i = 0; i < shares; i++)
        set->carrier->stop (set->carrier_self, generation, i);
    if (mpirun && generation->replicas_end_us > 0 &&
        now_us >= generation->replicas_end_us + MPIRUN_END_US)
        set->carrier->stop (set->carrier_self, generation, shares);
}

static void note_ends (struct generation *generation, int64_t now_us)
{
    int replicas = 0, runs = 0;
    for (int i = 0; i < generation->runs; i++) {
        bool ended = generation->ranks[i].phase == RANK_ENDED;
        replicas += ended && i < generation->replicas;
        runs += ended;
    }
    if (replicas == generation->replicas && generation->replicas_end_us == 0)
        generation->replicas_end_us = now_us;
    generation->over = runs == generation->runs;
}

static bool all_commands_run (const struct generation *generation)
{
    for (int i = 0; i < generation->replicas; i++)
        if (!generation->ranks[i].command_runs)
            return false;
    return true;
}

static void schedule_next (const struct generation_set *set, struct generation *generation,
                           int64_t now_us)
{
    bool look = false;
    generation->due_us = INT64_MAX;
    for (int i = 0; i < generation->runs; i++) {
        look |= must_look (&generation->ranks[i]);
        if (generation->ranks[i].phase == RANK_WAITING && !generation->ranks[i].error_logged)
            generation->due_us = now_us; /* this step had no time for it */
    }
    if (look && generation->due_us > now_us) {
        generation->due_us = now_us + generation->pause_us;
        generation->pause_us *= 2;
        if (generation->pause_us > set->carrier->pause_limit_us)
            generation->pause_us = set->carrier->pause_limit_us;
    }
    const struct rank *mpirun = generation_mpirun (generation);
    int64_t mpirun_end_us = generation->replicas_end_us + MPIRUN_END_US;
    if (mpirun && generation->replicas_end_us > 0 && !mpirun->stop_sent &&
        mpirun_end_us < generation->due_us)
        generation->due_us = mpirun_end_us;
}

void generation_step (struct generation_set *set, const struct cluster *cluster,
                      struct generation *generation, int64_t now_us)
{
    if (generation->job >= 0 && must_stop (generation))
        generation_stop (set, generation, STOP_FAILED); /* before more runs start */
    for (int i = 0; i < generation->share_count; i++)
        step_share (set, cluster, generation, i);
    if (generation->job >= 0 && must_stop (generation))
        generation_stop (set, generation, STOP_FAILED);
    note_ends (generation, now_us);
    if (generation->over) {
        generation->due_us = INT64_MAX;
        return;
    }
    if (generation->stop != STOP_NONE || generation->replicas_end_us > 0)
        stop_runs (set, generation, now_us);
    schedule_next (set, generation, now_us);
    if (generation->job >= 0 && !generation->started && generation->stop == STOP_NONE &&
        !cluster->jobs[generation->job]->spec.adaptive && all_commands_run (generation))
        generation->started = generation->reports_started = true;
}

/* ---- The end ------------------------------------------------------------------------------ */

/* Replicas that ended because mpirun did get its end as their reason. */
static void set_mpirun_reason (struct generation *generation)
{
    const struct replica_exit *mpirun = &generation->exits[generation->replicas];
    struct pollux_error reason;
    if (!generation_mpirun (generation) || !replica_exit_failed (mpirun))
        return;
    replica_exit_describe (mpirun, "mpirun", &reason);
    for (int i = 0; i < generation->replicas; i++) {
        struct replica_exit *replica = &generation->exits[i];
        if (replica->lost || (!replica->status.started && !replica->status.stopped))
            snprintf (replica->status.why, sizeof (replica->status.why), "%s", reason.text);
    }
}

/* Why a failure is not the job's own; NULL: it is. */
static const char *find_excuse (struct generation_set *set, const struct generation *generation,
                                struct pollux_error *text, int *ret_pause_s)
{
    if (!generation->carrier_failed)
        return set->carrier->excuse (set->carrier_self, generation, text, ret_pause_s);
    for (int i = 0; i < generation->runs; i++)
        if (replica_exit_failed (&generation->exits[i]))
            fail (text, 0, "not started: %s", generation->exits[i].status.why);
    return text->text;
}

void generation_exit (struct generation_set *set, const struct cluster *cluster,
                      struct generation *generation, struct event *ret)
{
    const struct job *job = cluster->jobs[generation->job];
    struct exit_case given = {
        .exits = generation->exits,
        .count = generation->replicas,
        .stop_asked = generation->stop == STOP_ASKED,
        .failures = job->failures,
        .max_failures = job->launch->max_failures,
    };
    char gone[NAME_SIZE + 8];
    snprintf (gone, sizeof (gone), "node %s", generation->gone);
    if (generation->stop == STOP_GONE)
        given.gone = gone;
    struct pollux_error excuse = {.text = ""};
    bool early = false;
    for (int i = 0; i < generation->replicas; i++)
        early |= replica_exit_failed (&generation->exits[i]) || generation->exits[i].status.stopped;
    set_mpirun_reason (generation);
    *ret = (struct event){.type = EVENT_EXIT, .job = generation->job};
    if (early && !given.stop_asked && !given.gone && job->phase != JOB_CANCELLING)
        given.excuse = find_excuse (set, generation, &excuse, &ret->exit.pause_s);
    ret->exit.generation = generation->number;
    ret->exit.kind = exit_judgement (&given, ret->exit.detail);
    if (!given.excuse)
        set->carrier->forget_excuses (set->carrier_self, generation->job);
}
