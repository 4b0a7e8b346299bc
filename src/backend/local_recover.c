/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery of what an earlier daemon left.  The journal says which generations run; their run
 * directories say how far they came:
 *
 *     no directory    START was committed, no run was started: start all
 *     some runs       start the rest with the same slots and port; but if one has failed, or a stop
 *                     was asked for, refuse the rest
 *     all runs        adopt those that live, read the status of those that ended
 *
 * Which runs live is read from the process table, because a job can remove or change its files: a
 * run whose supervisor lives is adopted, and no run is started while a process of it lives.
 *
 * Every other run below STATE/run that lives is an orphan and is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/local_private.h"
#include "backend/old_jobs.h"
#include "backend/run_open.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/safe_dir.h"
#include "wire/submission.h"

enum { RANKS_LIMIT = 1 << 16 }; /* more than the slots of any machine */
/* Only the last generations are looked at for runs that live: a job may keep many.  What lives of an
 * older one is found by the process table. */
enum { LOOK_GENERATIONS = 3 };
/* Before an orphan is looked at for the first time. */
#define ORPHAN_PAUSE_US INT64_C (20000)

/* ---- Generations that run ----------------------------------------------------------------- */

/* Take the slots and the port that were written.  False if they are missing or do not fit the
 * placement. */
static bool read_slot_map (struct local *local, struct generation *generation)
{
    struct run_slot_map slot_map;
    struct pollux_error err;
    int code =
        run_read_slot_map (local->runs.root, generation->name, generation->number, &slot_map, &err);
    if (code < 0 && code != -ENOENT)
        generation_log (&local->set, LOG_WARNING, "job %s, generation %d: %s", generation->name,
                        generation->number, err.text);
    if (code < 0)
        return false;
    bool fits = generation_hold_slots (&local->set, generation, &slot_map);
    free (slot_map.slots);
    return fits;
}

/* The processes of all runs. */
struct running {
    struct process_of_run *items;
    int count;
};

/* Take the supervisor of a run, if it lives.  Returns whether any process of the run does. */
static bool take_processes (struct local *local, const struct running *running, struct rank *run,
                            const struct run_name *name)
{
    struct run_family family = run_family (local->runs.root, name);
    char boot[RUN_BOOT_SIZE];
    bool lives = false;
    int file;
    for (int i = 0; i < running->count; i++) {
        const struct process_of_run *item = &running->items[i];
        if (strcmp (item->family, family.text) != 0)
            continue;
        lives = true;
        run->begun |= !item->supervisor;
        if (item->supervisor && run->supervisor < 0 && process_boot (boot, NULL) == 0 &&
            process_open (&item->process, boot, &file, NULL) == 0)
            local_watch (local, run, file);
    }
    return lives;
}

/* Look at all runs.  *ret_none: how many have neither directory nor process; these are to be
 * started. */
static int look_at_all (struct local *local, const struct running *running,
                        struct generation *generation, int *ret_none, struct pollux_error *err)
{
    *ret_none = 0;
    for (int i = 0; i < generation->runs; i++) {
        struct rank *run = &generation->ranks[i];
        struct run_name name = generation_run_name (generation, i);
        struct pollux_error why;
        int code = run_look (local->runs.root, &name, local->view, &why);
        if (code == -EPROTO)
            return fail (err, code, "%s; start the newer polluxd, or stop the job first", why.text);
        bool lives = take_processes (local, running, run, &name);
        if (code == 0 && local->view->state == RUN_NONE && !lives) {
            ++*ret_none;
            continue;
        }
        /* Until it is looked at. */
        run->phase = lives && run->supervisor < 0 && local->view->state == RUN_NONE ? RANK_KILLING
                                                                                    : RANK_STARTING;
        local_look (local, generation, i, NULL);
    }
    return 0;
}

/* What adopt needs. */
struct recovery {
    struct local *local;
    const struct running *running;
};

static int adopt (void *self, struct generation *generation, struct pollux_error *err)
{
    const struct recovery *recovery = self;
    struct local *local = recovery->local;
    int none;
    if (run_stop_marked (local->runs.root, generation->name, generation->number))
        generation->stop = STOP_ASKED;
    bool has_slots = read_slot_map (local, generation);
    int code = look_at_all (local, recovery->running, generation, &none, err);
    if (code < 0)
        return code;
    if (none < generation->runs) {
        generation->started = true; /* STARTED may be in the journal already */
        generation_log (&local->set, LOG_INFO, "job %s, generation %d: adopted", generation->name,
                        generation->number);
    }
    if (none > 0 && none < generation->runs && !has_slots)
        generation_stop (&local->set, generation,
                         STOP_FAILED); /* the rest cannot find the others' port */
    return has_slots;
}

/* ---- Directories of no generation that runs ----------------------------------------------- */

/* The highest rank in a generation's directory that has not ended, or -1. */
static int highest_alive (struct local *local, const char *job, int generation)
{
    int directory, highest = -1;
    DIR *list;
    const char *entry;
    if (run_open_generation (local->runs.root, job, generation, &directory, NULL) < 0)
        return -1;
    if (safe_dir_list (directory, &list, NULL) == 0) {
        while ((entry = safe_dir_next (list))) {
            struct run_name name = {.generation = generation, .rank = run_number (entry)};
            snprintf (name.job, NAME_SIZE, "%s", job);
            if (name.rank > highest && name.rank < RANKS_LIMIT &&
                (run_look (local->runs.root, &name, local->view, NULL) < 0 ||
                 local->view->state == RUN_RUNNING || local->view->state == RUN_LOST))
                highest = name.rank;
        }
        closedir (list);
    }
    close (directory);
    return highest;
}

static void kill_orphan (struct local *local, const char *job, int number, int runs, bool obsolete)
{
    /* Its nodes are not known, and not needed. */
    struct share share = {.node = 0, .replicas = runs};
    struct placement placement = {.shares = &share, .count = 1};
    struct generation *generation =
        generation_add (&local->set, job, number, placement, LAUNCHER_ENV);
    if (!generation) {
        generation_log (&local->set, LOG_ERR, "job %s, generation %d: no memory to kill it", job,
                        number);
        return;
    }
    generation_log (
        &local->set, LOG_WARNING,
        "job %s, generation %d: the journal does not know that it runs; what is left of it "
        "is killed",
        job, number);
    generation->job = -1;
    generation->obsolete = obsolete;
    generation->stop = STOP_FAILED;
    generation->due_us = clock_monotonic_us () + ORPHAN_PAUSE_US;
    for (int i = 0; i < runs; i++)
        generation->ranks[i].phase = RANK_STARTING;
}

/* What still runs in it is killed first, as an orphan. */
void local_remove (void *self, const char *job, int number)
{
    struct local *local = self;
    struct pollux_error err;
    int alive = highest_alive (local, job, number) + 1;
    int code = alive > 0 ? -EBUSY : run_remove (local->runs.root, job, number, &err);
    if (code == -EBUSY || code == -ENOTEMPTY) /* or a run is being made */
        kill_orphan (local, job, number, alive > 0 ? alive : 1, true);
    else if (code < 0)
        generation_log (&local->set, LOG_WARNING, "job %s, generation %d: %s", job, number,
                        err.text);
}

static void sweep_generation (struct local *local, const struct job *job, const char *name,
                              int number, bool expired)
{
    bool future = !job || number > job->generation;
    if (job && job_runs (job) && number == job->generation)
        return;
    if (future || expired) {
        local_remove (local, name, number);
    } else if (number > job->generation - LOOK_GENERATIONS) {
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
    bool expired = job && job_is_old (job, oldest_us);
    DIR *list;
    const char *entry;
    if (!wire_is_job (name) || safe_dir_open (local->runs.root, name, &directory, NULL) < 0)
        return;
    if (safe_dir_list (directory, &list, NULL) == 0) {
        while ((entry = safe_dir_next (list)))
            if (run_number (entry) >= 0)
                sweep_generation (local, job, name, run_number (entry), expired);
        closedir (list);
    }
    close (directory);
}

static bool is_known (const struct local *local, const struct run_name *name)
{
    for (int i = 0; i < local->set.count; i++)
        if (strcmp (local->set.items[i]->name, name->job) == 0 &&
            local->set.items[i]->number == name->generation &&
            local->set.items[i]->runs > name->rank)
            return true;
    return false;
}

/* Cut the last number off JOB.GENERATION.RANK; -1: there is none. */
static int cut_number (char *text)
{
    char *dot = strrchr (text, '.');
    if (!dot)
        return -1;
    *dot = '\0';
    return run_number (dot + 1);
}

/* Processes whose directories were removed, of runs that the journal does not know. */
static void sweep_processes (struct local *local, const struct running *running)
{
    for (int i = 0; i < running->count; i++) {
        struct run_name name = {0};
        char text[RUN_ID_SIZE];
        strcpy (text, running->items[i].family);
        char *root = strrchr (text, '.');
        if (!root)
            continue;
        *root = '\0';
        name.rank = cut_number (text);
        name.generation = cut_number (text);
        if (name.rank < 0 || name.rank >= RANKS_LIMIT || name.generation < 0 || !wire_is_job (text))
            continue;
        strcpy (name.job, text);
        if (strcmp (run_family (local->runs.root, &name).text, running->items[i].family) == 0 &&
            !is_known (local, &name))
            kill_orphan (local, name.job, name.generation, name.rank + 1, true);
    }
}

/* Runs beside an empty journal were started by another journal. */
static int check_journal (const struct local *local, const struct cluster *cluster,
                          struct pollux_error *err)
{
    DIR *list;
    const char *entry;
    if (cluster->job_count > 0 || cluster->node_count > 0)
        return 0;
    int code = safe_dir_list (local->runs.root, &list, err);
    if (code < 0)
        return code;
    while (code == 0 && (entry = safe_dir_next (list)))
        if (wire_is_job (entry))
            code =
                fail (err, -EINVAL,
                      "journal.db is empty, but there are runs of job %s: restore a copy; or, to "
                      "begin anew, end what still runs (pollux exec) and remove %s",
                      entry, file_name (local->runs.directory).text);
    closedir (list);
    return code;
}

void local_prune (struct local *local, const struct cluster *cluster)
{
    int64_t oldest_us = old_jobs_before_us (cluster, local->runs.keep_jobs);
    for (int i = 0; i < cluster->job_count; i++) {
        const struct job *job = cluster->jobs[i];
        if (job_is_old (job, oldest_us))
            sweep_job (local, cluster, job->spec.name, oldest_us);
    }
}

int local_recover (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct local *local = self;
    DIR *list;
    const char *entry;
    struct running running = {0};
    int code = check_journal (local, cluster, err);
    if (code == 0)
        code = process_list_runs (&running.items, &running.count, err);
    if (code == 0)
        code = generation_set_recover (&local->set, cluster, adopt,
                                       &(struct recovery){local, &running}, err);
    if (code == 0)
        code = safe_dir_list (local->runs.root, &list, err);
    if (code == 0) {
        int64_t oldest_us = old_jobs_before_us (cluster, local->runs.keep_jobs);
        while ((entry = safe_dir_next (list)))
            sweep_job (local, cluster, entry, oldest_us);
        closedir (list);
        sweep_processes (local, &running);
    }
    free (running.items);
    return code;
}
