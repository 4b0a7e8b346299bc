/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a generation's runs, in steps that never wait.  A step looks at the runs of which
 * something may be new, and does what follows; what it sees is in the run directories, so that a
 * step forgotten is a step done later, by this daemon or the next.
 *
 * Pidfds tell of ends.  All else is found by looking again, soon at first and then less often: that
 * a directory appears, that the command runs, that nothing is left of a lost run.
 */
#define _GNU_SOURCE /* pidfds */
#include "backend/generation.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "backend/spawn.h"
#include "base/error.h"

#define PAUSE_US INT64_C (5000)
#define PAUSE_LIMIT_US INT64_C (500000)
/* A start takes half a millisecond, or ten where the disk is busy. */
#define STARTING_US INT64_C (4000)
/* mpirun ends by itself after its ranks; this is how long it may take. */
#define IDLE_US INT64_C (2000000)
/* How long mpirun may take to start its ranks.  One whose supervisor is killed before it has begun
 * never comes, and mpirun does not tell. */
#define COMING_US INT64_C (60000000)
/* After a full disk or the like. */
#define HELD_US INT64_C (10000000)
/* A supervisor that cannot begin says one sentence. */
enum { SAID_SIZE = RUN_WHY_SIZE - 64 };

/* ---- Making and dropping ------------------------------------------------------------------ */

static int grow (struct local *local)
{
    if (local->count < local->capacity)
        return 0;
    int capacity = local->capacity ? 2 * local->capacity : 16;
    size_t size = (size_t)capacity * sizeof (struct generation *);
    struct generation **generations = realloc (local->generations, size);
    if (!generations)
        return -ENOMEM;
    local->generations = generations;
    local->capacity = capacity;
    return 0;
}

static void generation_free (struct local *local, struct generation *generation)
{
    for (int i = 0; generation->ranks && i < generation->count; i++) {
        struct rank *rank = &generation->ranks[i];
        if (rank->supervisor >= 0)
            close (rank->supervisor); /* and it leaves epoll */
        if (rank->said >= 0)
            close (rank->said);
        if (generation->slot_map.slots && i < generation->world &&
            generation->slot_map.slots[i] >= 0)
            slot_map_release (&local->slot_map, rank->node, generation->slot_map.slots[i]);
    }
    free (generation->ranks);
    free (generation->endings);
    free (generation->slot_map.slots);
    free (generation);
}

struct generation *generation_add (struct local *local, const char *name, int number, int world,
                                   bool mpi)
{
    struct generation *generation = calloc (1, sizeof (*generation));
    if (!generation || grow (local) < 0) {
        free (generation);
        return NULL;
    }
    generation->number = number;
    generation->world = generation->slot_map.count = world;
    generation->count = world + mpi;
    generation->begun_us = local_now_us ();
    generation->pause_us = PAUSE_US;
    generation->ranks = calloc ((size_t)generation->count, sizeof (struct rank));
    generation->endings = calloc ((size_t)generation->count, sizeof (struct replica_exit));
    generation->slot_map.slots = malloc ((size_t)world * sizeof (int));
    if (!generation->ranks || !generation->endings || !generation->slot_map.slots) {
        free (generation->ranks);
        generation->ranks = NULL;
        generation_free (local, generation);
        return NULL;
    }
    snprintf (generation->name, NAME_SIZE, "%s", name);
    for (int i = 0; i < generation->count; i++)
        generation->ranks[i] = (struct rank){.generation = generation,
                                             .phase = mpi && i < world ? RANK_COMING : RANK_WAITING,
                                             .supervisor = -1,
                                             .said = -1};
    for (int i = 0; i < world; i++)
        generation->slot_map.slots[i] = -1;
    local->generations[local->count++] = generation;
    return generation;
}

void generation_drop (struct local *local, struct generation *generation)
{
    int at = 0;
    while (local->generations[at] != generation)
        at++;
    local->generations[at] = local->generations[--local->count];
    generation_free (local, generation);
}

/* ---- Runs --------------------------------------------------------------------------------- */

static struct run_name name_of (const struct generation *generation, int rank)
{
    struct run_name name = {.generation = generation->number, .rank = rank};
    memcpy (name.job, generation->name, NAME_SIZE);
    return name;
}

static bool is_mpi (const struct generation *generation)
{
    return generation->count > generation->world;
}

static struct rank *launcher (const struct generation *generation)
{
    return is_mpi (generation) ? &generation->ranks[generation->world] : NULL;
}

static int64_t wall_us (void)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void forget_supervisor (struct rank *rank)
{
    if (rank->supervisor >= 0)
        close (rank->supervisor);
    if (rank->said >= 0)
        close (rank->said);
    rank->supervisor = rank->said = -1;
    rank->woken = false;
}

static void end_rank (struct generation *generation, int rank, const struct run_status *status,
                      bool lost)
{
    forget_supervisor (&generation->ranks[rank]);
    generation->ranks[rank].phase = RANK_ENDED;
    generation->endings[rank] = (struct replica_exit){.status = *status, .lost = lost};
}

/* Look again soon. */
static void hurry (struct generation *generation)
{
    generation->pause_us = PAUSE_US;
}

/* Could a supervisor that we do not know of still appear? */
static bool may_come (const struct generation *generation, int rank)
{
    const struct rank *mpirun = launcher (generation);
    return generation->recovered || (mpirun && rank < generation->world &&
                                     mpirun->phase != RANK_ENDED && mpirun->phase != RANK_WAITING);
}

/* Take the place of a run that will not be started.  If somebody has been faster, the next look
 * finds that. */
static void refuse (struct local *local, struct generation *generation, int rank, bool stopped,
                    const char *why)
{
    struct run_name name = name_of (generation, rank);
    struct run_status status = {
        .code = stopped ? 143 : 126, .stopped = stopped, .at_us = wall_us ()};
    struct pollux_error err = {.text = ""};
    snprintf (status.why, sizeof (status.why), "%s", why);
    int code = run_refuse (local->root, &name, &status, &err);
    if (code == -EEXIST) {
        generation->ranks[rank].phase = RANK_COMING;
        hurry (generation);
    } else if (code < 0 && code != -ENOENT && may_come (generation, rank)) {
        if (!generation->ranks[rank].complained)
            local_log (local, LOG_ERR, "%s; trying again", err.text);
        generation->ranks[rank].complained = true;
    } else {
        end_rank (generation, rank, &status, false);
    }
}

/* Its supervisor has ended, and has left no directory: why? */
static void explain_absence (struct generation *generation, int rank, int wait_status, char *why,
                             size_t size)
{
    char said[SAID_SIZE] = "";
    int file = generation->ranks[rank].said;
    ssize_t length = file >= 0 ? pread (file, said, sizeof (said) - 1, 0) : 0;
    said[length > 0 ? length : 0] = '\0';
    said[strcspn (said, "\n")] = '\0';
    if (*said)
        snprintf (why, size, "its supervisor could not begin: %s", said);
    else if (WIFSIGNALED (wait_status))
        snprintf (why, size, "its supervisor was killed by signal %d before it began",
                  WTERMSIG (wait_status));
    else
        snprintf (why, size, "its supervisor ended before it began");
}

/* This machine is in trouble: let it recover before anything else is started. */
static void note_bad_luck (struct local *local, struct generation *generation)
{
    generation->unlucky = true;
    local->held_us = local_now_us () + HELD_US;
}

static bool is_gone (const struct rank *run)
{
    return run->phase == RANK_ENDED || run->phase == RANK_DYING;
}

static bool is_late (const struct generation *generation, const struct rank *mpirun)
{
    return mpirun->phase == RANK_RUNNING && mpirun->has_replica &&
           local_now_us () >= generation->begun_us + COMING_US;
}

/* No directory.  Somebody may be on the way; otherwise it never will be started.  If mpirun went
 * without a request, that is a failure, although all are stopped because of it. */
static void see_none (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    const struct rank *mpirun = rank < generation->world ? launcher (generation) : NULL;
    int wait_status = 0;
    char why[RUN_WHY_SIZE];
    if (generation->job < 0) {
        end_rank (generation, rank, &(struct run_status){0}, false);
    } else if (mpirun && is_gone (mpirun) && generation->stop != STOP_ASKED) {
        refuse (local, generation, rank, false, "mpirun ended before it was started");
    } else if (generation->stop != STOP_NONE && run->supervisor < 0) {
        refuse (local, generation, rank, true, "");
    } else if (mpirun && is_late (generation, mpirun)) {
        refuse (local, generation, rank, false, "mpirun has not started it for a minute");
    } else if (run->woken) {
        spawn_reap (run->supervisor, &wait_status);
        explain_absence (generation, rank, wait_status, why, sizeof (why));
        if (WIFEXITED (wait_status) && WEXITSTATUS (wait_status) == 1)
            note_bad_luck (local, generation); /* "what the system refused", pollux-exec(1) */
        refuse (local, generation, rank, false, why);
    }
}

/* Its supervisor lives: watch that one, whoever started it. */
static void see_running (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    const struct run_info *info = &local->view->info;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = run};
    int wait_status, file;
    if (run->woken) { /* it was another one's directory */
        spawn_reap (run->supervisor, &wait_status);
        forget_supervisor (run);
    }
    if (run->supervisor < 0 && process_open (&info->supervisor, info->boot, &file, NULL) == 0) {
        run->supervisor = file;
        epoll_ctl (local->epoll, EPOLL_CTL_ADD, file, &event);
    }
    if (run->phase != RANK_RUNNING)
        hurry (generation);
    run->phase = RANK_RUNNING;
    run->has_replica |= local->view->has_replica;
    if (run->has_replica && run->said >= 0) {
        close (run->said);
        run->said = -1;
    }
}

/* Its supervisor is gone without a word: kill what is left, then it has ended. */
static void see_lost (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct pollux_error err = {.text = ""};
    struct run_status status = {.started = true, .signal = SIGKILL, .at_us = wall_us ()};
    if (run->phase != RANK_DYING) {
        struct run_name name = name_of (generation, rank);
        if (generation->job >= 0)
            local_log (local, LOG_WARNING, "run %s is lost: %s", run_path (&name).text,
                       local->view->why.text);
        hurry (generation);
    }
    run->phase = RANK_DYING;
    int left = run_kill (local->view, &err);
    if (left < 0 && !run->complained) {
        run->complained = true;
        local_log (local, LOG_ERR, "%s; trying again", err.text);
    }
    if (left == 0) {
        struct run_name name = name_of (generation, rank);
        snprintf (status.why, sizeof (status.why), "%s", local->view->why.text);
        run_settle (local->root, &name, &status,
                    NULL); /* else the next daemon finds it lost, too */
        end_rank (generation, rank, &status, true);
    }
}

int generation_look (struct local *local, struct generation *generation, int rank,
                     struct pollux_error *err)
{
    struct run_name name = name_of (generation, rank);
    struct rank *run = &generation->ranks[rank];
    int wait_status;
    int code = run_look (local->root, &name, local->view, err);
    if (code < 0)
        return code;
    if (run->woken && local->view->state != RUN_NONE && local->view->state != RUN_RUNNING) {
        spawn_reap (run->supervisor, &wait_status);
        forget_supervisor (run);
    }
    switch (local->view->state) {
    case RUN_NONE:
        see_none (local, generation, rank);
        break;
    case RUN_RUNNING:
        see_running (local, generation, rank);
        break;
    case RUN_ENDED:
        if (run->supervisor < 0) /* otherwise it is about to go, and its pidfd tells */
            end_rank (generation, rank, &local->view->status, false);
        break;
    case RUN_LOST:
        see_lost (local, generation, rank);
        break;
    }
    return 0;
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* Is there anything to see that no pidfd will tell? */
static bool is_unsure (const struct rank *run)
{
    return run->phase == RANK_COMING || run->phase == RANK_DYING || run->woken ||
           (run->phase == RANK_WAITING && run->complained) ||
           (run->phase == RANK_RUNNING && (!run->has_replica || run->supervisor < 0));
}

/* A step starts or refuses one run at least, and no more when its time is over: others wait for
 * answers. */
static bool has_time (struct local *local)
{
    int64_t now_us = local_now_us ();
    if (local->start_until_us == 0)
        local->start_until_us = now_us + STARTING_US;
    return now_us < local->start_until_us;
}

static void start_rank (struct local *local, const struct cluster *cluster,
                        struct generation *generation, int rank)
{
    struct pollux_error err = {.text = ""};
    int code = generation_start (local, cluster, generation, rank, &err);
    if (code == 0 || generation->ranks[rank].phase != RANK_WAITING)
        return;
    if (code != -EINVAL)
        note_bad_luck (local, generation);
    refuse (local, generation, rank, false, err.text);
}

static void step_rank (struct local *local, const struct cluster *cluster,
                       struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct pollux_error err = {.text = ""};
    if (run->phase == RANK_WAITING) {
        if (!run->complained)
            hurry (generation);
        if (!has_time (local))
            return;
        if (generation->stop != STOP_NONE)
            refuse (local, generation, rank, true, "");
        else
            start_rank (local, cluster, generation, rank);
    } else if (is_unsure (run) && generation_look (local, generation, rank, &err) < 0 &&
               !run->complained) {
        run->complained = true;
        local_log (local, LOG_ERR, "%s; looking again", err.text);
    }
}

/* Has a replica ended in a way that the others cannot go on from? */
static bool must_stop (const struct generation *generation)
{
    const struct rank *mpirun = launcher (generation);
    int ended = 0;
    for (int i = 0; i < generation->world; i++) {
        const struct run_status *status = &generation->endings[i].status;
        if (generation->ranks[i].phase == RANK_DYING)
            return true;
        if (generation->ranks[i].phase != RANK_ENDED)
            continue;
        ended++;
        if (generation->endings[i].lost || status->code != 0 || status->signal != 0)
            return true;
    }
    return mpirun && ended < generation->world && is_gone (mpirun);
}

static void send_stop (struct local *local, struct rank *run)
{
    struct pollux_error err;
    if (run->supervisor < 0 || run->stop_sent ||
        (run->phase != RANK_RUNNING && run->phase != RANK_COMING))
        return;
    /* An orphan is nobody's: it has no work that anyone waits for. */
    int code = run->generation->job < 0 ? (pidfd_send_signal (run->supervisor, SIGKILL, NULL, 0), 0)
                                        : run_stop (run->supervisor, &err);
    if (code < 0 && code != -ESRCH)
        local_log (local, LOG_ERR, "%s", err.text);
    run->stop_sent = true;
}

void generation_stop (struct local *local, struct generation *generation, enum stop_reason reason)
{
    struct pollux_error err = {.text = ""};
    if (generation->stop != STOP_NONE)
        return;
    generation->stop = reason;
    generation->due_us = 0;
    hurry (generation);
    int code = reason == STOP_ASKED
                   ? run_mark_stop (local->root, generation->name, generation->number, &err)
                   : 0;
    if (code < 0 && code != -ENOENT)
        local_log (local, LOG_WARNING, "job %s: %s", generation->name, err.text);
}

/* Ranks are told, mpirun is not: it would kill them within seconds. */
static void pass_stop (struct local *local, struct generation *generation, int64_t now_us)
{
    struct rank *mpirun = launcher (generation);
    for (int i = 0; i < generation->world; i++)
        send_stop (local, &generation->ranks[i]);
    if (mpirun && generation->idle_us > 0 && now_us >= generation->idle_us + IDLE_US)
        send_stop (local, mpirun);
}

static void note_ends (struct generation *generation, int64_t now_us)
{
    int replicas = 0, all = 0;
    for (int i = 0; i < generation->count; i++) {
        bool ended = generation->ranks[i].phase == RANK_ENDED;
        replicas += ended && i < generation->world;
        all += ended;
    }
    if (replicas == generation->world && generation->idle_us == 0)
        generation->idle_us = now_us;
    generation->over = all == generation->count;
}

static bool all_run (const struct generation *generation)
{
    for (int i = 0; i < generation->world; i++)
        if (!generation->ranks[i].has_replica)
            return false;
    return true;
}

static void plan_next (struct generation *generation, int64_t now_us)
{
    bool unsure = false;
    generation->due_us = INT64_MAX;
    for (int i = 0; i < generation->count; i++) {
        unsure |= is_unsure (&generation->ranks[i]);
        if (generation->ranks[i].phase == RANK_WAITING && !generation->ranks[i].complained)
            generation->due_us = now_us; /* the step's time was over */
    }
    if (unsure && generation->due_us > now_us) {
        generation->due_us = now_us + generation->pause_us;
        if (generation->pause_us < PAUSE_LIMIT_US)
            generation->pause_us *= 2;
    }
    const struct rank *mpirun = launcher (generation);
    if (mpirun && generation->idle_us > 0 && !mpirun->stop_sent &&
        generation->idle_us + IDLE_US < generation->due_us)
        generation->due_us = generation->idle_us + IDLE_US;
}

void generation_step (struct local *local, const struct cluster *cluster,
                      struct generation *generation, int64_t now_us)
{
    if (generation->job >= 0 && must_stop (generation))
        generation_stop (local, generation, STOP_FAILED); /* before any more are started */
    for (int i = 0; i < generation->count; i++)
        step_rank (local, cluster, generation, i);
    if (generation->job >= 0 && must_stop (generation))
        generation_stop (local, generation, STOP_FAILED);
    note_ends (generation, now_us);
    if (generation->over) {
        generation->due_us = INT64_MAX;
        return;
    }
    if (generation->stop != STOP_NONE || generation->idle_us > 0)
        pass_stop (local, generation, now_us);
    plan_next (generation, now_us);
    if (generation->job >= 0 && !generation->started && generation->stop == STOP_NONE &&
        !cluster->jobs[generation->job]->spec.adaptive && all_run (generation))
        generation->started = generation->announce = true;
}
