/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier daemon left.  The journal says which generations run; their run directories say
 * how far they came:
 *
 *     no directory         START was committed, nothing was started: start it
 *     some runs            the same seats and port for the rest; but if one has ended badly, or all
 *                          were asked to stop, the rest is refused
 *     all runs             adopt those that live, read the status of those that ended
 *
 * Everything else that lives below STATE/run is an orphan, and is killed.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/generation.h"
#include "base/safe_dir.h"
#include "backend/run_open.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"

/* More than the slots of any machine. */
enum { RANKS_LIMIT = 1 << 16 };
#define ORPHAN_PAUSE_US INT64_C (20000)

/* ---- Generations that run ----------------------------------------------------------------- */

/* The seats that were written, if they are there and fit the placement. */
static bool read_seats (struct local *local, const struct cluster *cluster,
                        struct generation *generation)
{
    struct placement placement = cluster->jobs[generation->job]->placement;
    struct run_slot_map slot_map;
    struct pollux_error err;
    int rank = 0;
    int code = run_read_seats (local->root, generation->name, generation->number, &slot_map, &err);
    if (code < 0 && code != -ENOENT)
        local_log (local, LOG_WARNING, "job %s, generation %d: %s", generation->name,
                   generation->number, err.text);
    if (code < 0)
        return false;
    bool fits = slot_map.count == generation->world;
    for (int i = 0; fits && i < placement.count; i++) {
        struct share share = placement.shares[i];
        for (int j = 0; fits && j < share.replicas; j++, rank++) {
            generation->ranks[rank].node = share.node;
            fits = slot_map_hold (&local->slot_map, share.node, slot_map.slots[rank]) == 0;
            generation->slot_map.slots[rank] = fits ? slot_map.slots[rank] : -1;
        }
    }
    if (fits)
        generation->slot_map.port = slot_map.port;
    free (slot_map.slots);
    return fits;
}

/* Look at all runs.  Those without a directory are to be started. */
static int look_at_all (struct local *local, struct generation *generation, int *ret_none,
                        struct pollux_error *err)
{
    *ret_none = 0;
    for (int i = 0; i < generation->count; i++) {
        struct run_name name = {.generation = generation->number, .rank = i};
        struct pollux_error why;
        memcpy (name.job, generation->name, NAME_SIZE);
        int code = run_look (local->root, &name, local->view, &why);
        if (code == -EPROTO)
            return fail (err, code, "%s; start the newer polluxd, or stop the job first", why.text);
        if (code == 0 && local->view->state == RUN_NONE) {
            ++*ret_none;
            continue;
        }
        generation->ranks[i].phase = RANK_COMING; /* until it has been looked at in its turn */
        if (code == 0)
            generation_look (local, generation, i, NULL);
    }
    return 0;
}

static int recover_job (struct local *local, const struct cluster *cluster, int index,
                        struct generation **ret, struct pollux_error *err)
{
    const struct job *job = cluster->jobs[index];
    int none;
    struct generation *generation =
        generation_add (local, job->spec.name, job->generation, placement_replicas (job->placement),
                        job->launch->launcher == LAUNCHER_MPI);
    if (!generation)
        return fail (err, -ENOMEM, "no memory for the runs of job %s", job->spec.name);
    generation->job = index;
    generation->recovered = true;
    if (run_stop_marked (local->root, generation->name, generation->number))
        generation->stop = STOP_ASKED;
    bool seated = read_seats (local, cluster, generation);
    int code = look_at_all (local, generation, &none, err);
    if (code < 0)
        return code;
    if (none < generation->count) {
        generation->started = true; /* as far as anyone can tell now */
        local_log (local, LOG_INFO, "job %s, generation %d: adopted", generation->name,
                   generation->number);
    }
    if (none > 0 && none < generation->count && !seated)
        generation_stop (local, generation, STOP_FAILED); /* the rest could not meet them */
    *ret = seated ? NULL : generation; /* to be seated when it is known who has which */
    return 0;
}

/* Those that have no seats yet take what is left. */
static void seat (struct local *local, const struct cluster *cluster, struct generation *generation)
{
    if (generation_seat (local, cluster, generation) < 0)
        generation_stop (local, generation, STOP_ASKED);
}

static int recover_jobs (struct local *local, const struct cluster *cluster,
                         struct pollux_error *err)
{
    size_t size = (size_t)cluster->live.count + 1;
    struct generation **standing = calloc (size, sizeof (standing[0]));
    int count = 0, code = 0;
    if (!standing)
        return fail (err, -ENOMEM, "no memory for %d jobs", cluster->live.count);
    for (int i = 0; code == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (!job_runs (job) || !job->launch)
            continue;
        code = recover_job (local, cluster, cluster->live.indices[i], &standing[count], err);
        count += code == 0 && standing[count];
    }
    for (int i = 0; code == 0 && i < count; i++)
        seat (local, cluster, standing[i]);
    free (standing);
    return code;
}

/* ---- Directories of no generation that runs ----------------------------------------------- */

/* A number as run directories are named, or -1. */
static int parse (const char *name)
{
    int64_t number;
    return number_int64 (name, &number) < 0 || number < 0 || number > INT_MAX ||
                   strspn (name, "0123456789") != strlen (name)
               ? -1
               : (int)number;
}

/* The highest rank in a generation's directory that has not ended, or -1. */
static int highest_alive (struct local *local, const char *job, int generation)
{
    int directory, highest = -1;
    DIR *list;
    const char *entry;
    if (run_open_generation (local->root, job, generation, &directory, NULL) < 0)
        return -1;
    if (safe_dir_list (directory, &list, NULL) == 0) {
        while ((entry = safe_dir_next (list))) {
            struct run_name name = {.generation = generation, .rank = parse (entry)};
            snprintf (name.job, NAME_SIZE, "%s", job);
            if (name.rank > highest && name.rank < RANKS_LIMIT &&
                (run_look (local->root, &name, local->view, NULL) < 0 ||
                 local->view->state == RUN_RUNNING || local->view->state == RUN_LOST))
                highest = name.rank;
        }
        closedir (list);
    }
    close (directory);
    return highest;
}

static void kill_orphan (struct local *local, const char *job, int number, int world, bool obsolete)
{
    struct generation *generation = generation_add (local, job, number, world, false);
    if (!generation) {
        local_log (local, LOG_ERR, "job %s, generation %d: no memory to kill it", job, number);
        return;
    }
    local_log (local, LOG_WARNING,
               "job %s, generation %d: the journal does not know that it runs; what is left of it "
               "is killed",
               job, number);
    generation->job = -1;
    generation->obsolete = obsolete;
    generation->stop = STOP_FAILED;
    generation->due_us = local_now_us () + ORPHAN_PAUSE_US; /* it may be tried again and again */
    for (int i = 0; i < world; i++)
        generation->ranks[i].phase = RANK_COMING;
}

void local_remove (struct local *local, const char *job, int number)
{
    struct pollux_error err;
    int alive = highest_alive (local, job, number) + 1;
    int code = alive > 0 ? -EBUSY : run_remove (local->root, job, number, &err);
    if (code == -EBUSY || code == -ENOTEMPTY) /* also one that is only just being made */
        kill_orphan (local, job, number, alive > 0 ? alive : 1, true);
    else if (code < 0)
        local_log (local, LOG_WARNING, "job %s, generation %d: %s", job, number, err.text);
}

static void sweep_generation (struct local *local, const struct job *job, const char *name,
                              int number, bool too_old)
{
    bool future = !job || number > job->generation;
    if (job && job_runs (job) && number == job->generation)
        return;
    if (future || too_old || number <= job->generation - local->keep_generations) {
        local_remove (local, name, number);
    } else {
        int alive = highest_alive (local, name, number) + 1;
        if (alive > 0)
            kill_orphan (local, name, number, alive, false);
    }
}

static void sweep_job (struct local *local, const struct cluster *cluster, const char *name,
                       int64_t oldest_us)
{
    int directory, index = cluster_find_job (cluster, name);
    const struct job *job = index >= 0 ? cluster->jobs[index] : NULL;
    bool too_old = job && !job_live (job) && job->end_us < oldest_us;
    DIR *list;
    const char *entry;
    if (!run_is_job (name) || safe_dir_open (local->root, name, &directory, NULL) < 0)
        return;
    if (safe_dir_list (directory, &list, NULL) == 0) {
        while ((entry = safe_dir_next (list)))
            if (parse (entry) >= 0)
                sweep_generation (local, job, name, parse (entry), too_old);
        closedir (list);
    }
    close (directory);
}

static int compare_times (const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Logs of jobs that ended before this go: only so many are kept. */
static int64_t oldest_kept_us (const struct local *local, const struct cluster *cluster)
{
    int64_t *ends = malloc (((size_t)cluster->job_count + 1) * sizeof (ends[0]));
    int64_t oldest_us = INT64_MIN;
    int count = 0;
    for (int i = 0; ends && i < cluster->job_count; i++)
        if (!job_live (cluster->jobs[i]))
            ends[count++] = cluster->jobs[i]->end_us;
    if (count > local->keep_jobs) {
        qsort (ends, (size_t)count, sizeof (ends[0]), compare_times);
        oldest_us = ends[count - local->keep_jobs];
    }
    free (ends);
    return oldest_us;
}

/* A journal that knows nothing at all, beside runs, is not the one that started them. */
static int check_journal (const struct local *local, const struct cluster *cluster,
                          struct pollux_error *err)
{
    DIR *list;
    const char *entry;
    if (cluster->job_count > 0 || cluster->node_count > 0)
        return 0;
    int code = safe_dir_list (local->root, &list, err);
    if (code < 0)
        return code;
    while (code == 0 && (entry = safe_dir_next (list)))
        if (run_is_job (entry))
            code =
                fail (err, -EINVAL,
                      "journal.db is empty, but there are runs of job %s: restore a copy; or, to "
                      "begin anew, end what still runs (pollux exec) and remove %s",
                      entry, file_name (local->directory).text);
    closedir (list);
    return code;
}

void local_prune (struct local *local, const struct cluster *cluster)
{
    int64_t oldest_us = oldest_kept_us (local, cluster);
    for (int i = 0; i < cluster->job_count; i++) {
        const struct job *job = cluster->jobs[i];
        if (!job_live (job) && job->end_us < oldest_us)
            sweep_job (local, cluster, job->spec.name, oldest_us);
    }
}

int local_recover (struct local *local, const struct cluster *cluster, struct pollux_error *err)
{
    DIR *list;
    const char *entry;
    int code = check_journal (local, cluster, err);
    if (code == 0)
        code = recover_jobs (local, cluster, err);
    if (code == 0)
        code = safe_dir_list (local->root, &list, err);
    if (code < 0)
        return code;
    int64_t oldest_us = oldest_kept_us (local, cluster);
    while ((entry = safe_dir_next (list)))
        sweep_job (local, cluster, entry, oldest_us);
    closedir (list);
    return 0;
}
