/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier's functions for runs that were started: compare a rank with its run directory
 * (backend/run.h), refuse runs that must not start, stop runs, and kill the processes that a dead
 * supervisor left.
 */
#define _GNU_SOURCE /* pidfds */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/local_private.h"
#include "backend/spawn.h"
#include "base/clock.h"
#include "base/error.h"

/* How long mpirun may take to start its ranks.  A rank whose supervisor is killed before it made
 * its directory never appears, and mpirun does not report it. */
#define MPI_START_US INT64_C (60000000)
/* A supervisor that cannot begin writes one sentence. */
enum { SENTENCE_SIZE = RUN_WHY_SIZE - 64 };

void local_release (void *self, struct rank *rank)
{
    (void)self;
    if (rank->supervisor >= 0)
        close (rank->supervisor); /* which removes it from epoll */
    if (rank->supervisor_error >= 0)
        close (rank->supervisor_error);
    rank->supervisor = rank->supervisor_error = -1;
    rank->notified = false;
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static void stop_rank (const struct local *local, struct rank *rank)
{
    struct pollux_error err;
    int code = 0;
    if (rank->supervisor < 0 || rank->stop_sent ||
        (rank->phase != RANK_RUNNING && rank->phase != RANK_STARTING))
        return;
    if (rank->generation->job < 0) /* the work of an orphan need not be saved */
        pidfd_send_signal (rank->supervisor, SIGKILL, NULL, 0);
    else
        code = run_stop (rank->supervisor, &err);
    if (code < 0 && code != -ESRCH)
        generation_log (&local->set, LOG_ERR, "%s", err.text);
    rank->stop_sent = true;
}

void local_stop (void *self, struct generation *generation, int share)
{
    const struct local *local = self;
    int first = generation->shares[share].first, end = first + generation->shares[share].count;
    for (int i = first; i < end; i++)
        stop_rank (local, &generation->ranks[i]);
}

void local_mark_stop (void *self, struct generation *generation)
{
    const struct local *local = self;
    struct pollux_error err = {.text = ""};
    int code = run_mark_stop (local->root, generation->name, generation->number, &err);
    if (code < 0 && code != -ENOENT)
        generation_log (&local->set, LOG_WARNING, "job %s: %s", generation->name, err.text);
}

/* ---- Refusing ----------------------------------------------------------------------------- */

/* Could a supervisor that this daemon did not start still appear? */
static bool may_still_start (const struct generation *generation, int rank)
{
    const struct rank *mpirun = generation_mpirun (generation);
    return generation->recovered || (mpirun && rank < generation->replicas &&
                                     mpirun->phase != RANK_ENDED && mpirun->phase != RANK_WAITING);
}

void local_refuse (void *self, struct generation *generation, int rank, bool stopped,
                   const char *why)
{
    struct local *local = self;
    struct run_name name = local_run_name (generation, rank);
    struct run_status status = {
        .code = stopped ? 143 : 126, .stopped = stopped, .at_us = clock_wall_us ()};
    struct pollux_error err = {.text = ""};
    snprintf (status.why, sizeof (status.why), "%s", why);
    int code = run_refuse (local->root, &name, &status, &err);
    if (code == -EEXIST) {
        generation->ranks[rank].phase = RANK_STARTING;
        generation_look_soon (&local->set, generation);
    } else if (code < 0 && code != -ENOENT && may_still_start (generation, rank)) {
        if (!generation->ranks[rank].error_logged)
            generation_log (&local->set, LOG_ERR, "%s; trying again", err.text);
        generation->ranks[rank].error_logged = true;
    } else {
        generation_end_rank (&local->set, generation, rank, &status, false);
    }
}

/* ---- Looking ------------------------------------------------------------------------------ */

/* A supervisor has ended and left no directory: why? */
static void explain_absence (const struct rank *run, int wait_status, char *why, size_t size)
{
    char sentence[SENTENCE_SIZE] = "";
    int file = run->supervisor_error;
    ssize_t length = file >= 0 ? pread (file, sentence, sizeof (sentence) - 1, 0) : 0;
    sentence[length > 0 ? length : 0] = '\0';
    sentence[strcspn (sentence, "\n")] = '\0';
    if (*sentence)
        snprintf (why, size, "its supervisor could not begin: %s", sentence);
    else if (WIFSIGNALED (wait_status))
        snprintf (why, size, "its supervisor was killed by signal %d before it began",
                  WTERMSIG (wait_status));
    else
        snprintf (why, size, "its supervisor ended before it began");
}

/* Has mpirun had enough time to start its ranks? */
static bool is_late (const struct generation *generation, const struct rank *mpirun)
{
    return mpirun->phase == RANK_RUNNING && mpirun->command_runs &&
           clock_monotonic_us () >= generation->since_us + MPI_START_US;
}

/* No directory: a supervisor may still make it, or the run will never start.  If mpirun ended
 * without a request, that is a failure, even though all ranks are being stopped because of it. */
static void see_none (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    const struct rank *mpirun = rank < generation->replicas ? generation_mpirun (generation) : NULL;
    int wait_status = 0;
    char why[RUN_WHY_SIZE];
    if (generation->job < 0) {
        generation_end_rank (&local->set, generation, rank, &(struct run_status){0}, false);
    } else if (mpirun && rank_is_gone (mpirun) && generation->stop != STOP_ASKED) {
        local_refuse (local, generation, rank, false, "mpirun ended before it was started");
    } else if (generation->stop != STOP_NONE && run->supervisor < 0) {
        local_refuse (local, generation, rank, true, "");
    } else if (mpirun && is_late (generation, mpirun)) {
        local_refuse (local, generation, rank, false, "mpirun has not started it for a minute");
    } else if (run->notified) {
        spawn_reap (run->supervisor, &wait_status);
        explain_absence (run, wait_status, why, sizeof (why));
        if (WIFEXITED (wait_status) && WEXITSTATUS (wait_status) == 1)
            generation_carrier_failed (&local->set, generation); /* see pollux-exec(1) */
        local_refuse (local, generation, rank, false, why);
    }
}

/* A supervisor lives: watch it, also if another daemon or mpirun started it. */
static void see_running (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    const struct run_info *info = &local->view->info;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = run};
    int wait_status, file;
    if (run->notified) { /* ours ended because another one had made the directory */
        spawn_reap (run->supervisor, &wait_status);
        local_release (local, run);
    }
    if (run->supervisor < 0 && process_open (&info->supervisor, info->boot, &file, NULL) == 0) {
        run->supervisor = file;
        epoll_ctl (local->epoll, EPOLL_CTL_ADD, file, &event);
    }
    if (run->phase != RANK_RUNNING)
        generation_look_soon (&local->set, generation);
    run->phase = RANK_RUNNING;
    run->command_runs |= local->view->has_replica;
    if (run->command_runs && run->supervisor_error >= 0) {
        close (run->supervisor_error);
        run->supervisor_error = -1;
    }
}

/* The supervisor died without a status: kill what is left; when nothing is left, the run has
 * ended. */
static void see_lost (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct run_name name = local_run_name (generation, rank);
    struct pollux_error err = {.text = ""};
    struct run_status status = {.started = true, .signal = SIGKILL, .at_us = clock_wall_us ()};
    if (run->phase != RANK_KILLING) {
        if (generation->job >= 0)
            generation_log (&local->set, LOG_WARNING, "run %s is lost: %s", run_path (&name).text,
                            local->view->why.text);
        generation_look_soon (&local->set, generation);
    }
    run->phase = RANK_KILLING;
    int left = run_kill (local->root, &name, local->view, &err);
    if (left < 0 && !run->error_logged) {
        run->error_logged = true;
        generation_log (&local->set, LOG_ERR, "%s; trying again", err.text);
    }
    if (left == 0) {
        snprintf (status.why, sizeof (status.why), "%s", local->view->why.text);
        run_settle (local->root, &name, &status, NULL); /* on failure the next daemon repeats it */
        generation_end_rank (&local->set, generation, rank, &status, true);
    }
}

int local_look (void *self, struct generation *generation, int rank, struct pollux_error *err)
{
    struct local *local = self;
    struct run_name name = local_run_name (generation, rank);
    struct rank *run = &generation->ranks[rank];
    int wait_status;
    int code = run_look (local->root, &name, local->view, err);
    if (code < 0)
        return code;
    if (run->notified && local->view->state != RUN_NONE && local->view->state != RUN_RUNNING) {
        spawn_reap (run->supervisor, &wait_status);
        local_release (local, run);
    }
    switch (local->view->state) {
    case RUN_NONE:
        see_none (local, generation, rank);
        break;
    case RUN_RUNNING:
        see_running (local, generation, rank);
        break;
    case RUN_ENDED:
        if (run->supervisor < 0) /* otherwise the supervisor is ending, and its pidfd reports it */
            generation_end_rank (&local->set, generation, rank, &local->view->status, false);
        break;
    case RUN_LOST:
        see_lost (local, generation, rank);
        break;
    case RUN_BEGUN: /* of run_read only */
        break;
    }
    return 0;
}
