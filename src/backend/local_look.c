/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier's functions for runs that were started: compare a rank with its run directory
 * (backend/run.h), refuse runs that must not start, stop runs, and kill the processes that a dead
 * supervisor left.
 *
 * Whether a run lives is decided by the pidfd of its supervisor; its files, which a job can change,
 * say how it ended.  If they are gone, the exit code of the supervisor does.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/generation_files.h"
#include "backend/local_private.h"
#include "backend/spawn.h"
#include "base/clock.h"
#include "base/error.h"

/* How long mpirun may take to start its ranks.  A rank whose supervisor is killed before it made
 * its directory never appears, and mpirun does not report it. */
#define MPI_START_US INT64_C (60000000)
/* After this time without a directory, a replica may have removed it. */
#define REMOVED_US INT64_C (3000000)
/* A supervisor that cannot begin writes one sentence. */
enum { SENTENCE_SIZE = RUN_WHY_SIZE - 64 };

/* ---- Supervisors as processes ------------------------------------------------------------- */

/* A job can change its files, but not this.  (The pidfd may be that of the supervisor's guardian,
 * which ends last.) */
static bool supervisor_lives (const struct rank *run)
{
    struct pollfd ended = {.fd = run->supervisor, .events = POLLIN};
    return run->supervisor >= 0 && poll (&ended, 1, 0) == 0;
}

void local_watch (struct local *local, struct rank *rank, int pidfd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = rank};
    rank->supervisor = pidfd;
    rank->notified = false;
    epoll_ctl (local->epoll, EPOLL_CTL_ADD, pidfd,
               &event); /* otherwise it is looked at regularly */
}

/* Keep a child that has not ended until it can be reaped.  Without memory it stays a zombie. */
static bool keep_leaving (struct local *local, int pidfd)
{
    size_t size = ((size_t)local->leaving_count + 1) * sizeof (int);
    int *leaving = realloc (local->leaving, size);
    if (!leaving)
        return false;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl (local->epoll, EPOLL_CTL_DEL, pidfd, NULL);
    epoll_ctl (local->epoll, EPOLL_CTL_ADD, pidfd, &event);
    local->leaving = leaving;
    local->leaving[local->leaving_count++] = pidfd;
    return true;
}

void local_reap_leaving (struct local *local)
{
    int wait_status;
    for (int i = 0; i < local->leaving_count; i++) {
        if (spawn_reap (local->leaving[i], &wait_status) == 0)
            continue;
        close (local->leaving[i]); /* which removes it from epoll */
        local->leaving[i--] = local->leaving[--local->leaving_count];
    }
}

void local_release (void *self, struct rank *rank)
{
    struct local *local = self;
    int wait_status;
    if (rank->supervisor >= 0 && (spawn_reap (rank->supervisor, &wait_status) != 0 ||
                                  !keep_leaving (local, rank->supervisor)))
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
    if (rank->supervisor < 0 || rank->stop_sent ||
        (rank->phase != RANK_RUNNING && rank->phase != RANK_STARTING))
        return;
    int code = run_stop (rank->supervisor, &err);
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
    generation_mark_stop (&local->set, local->runs.root, generation);
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
    struct run_name name = generation_run_name (generation, rank);
    struct run_status status = {
        .code = stopped ? 143 : 126, .stopped = stopped, .at_us = clock_wall_us ()};
    struct pollux_error err = {.text = ""};
    snprintf (status.why, sizeof (status.why), "%s", why);
    int code = run_refuse (local->runs.root, &name, &status, &err);
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

/* How a supervisor ended, as far as this daemon knows. */
struct ending {
    bool known; /* it was a child of this daemon */
    int wait_status;
};

/* The sentence that a supervisor wrote before it had a log; "" if there is none. */
static void read_sentence (const struct rank *run, char ret[SENTENCE_SIZE])
{
    int file = run->supervisor_error;
    ssize_t length = file >= 0 ? pread (file, ret, SENTENCE_SIZE - 1, 0) : 0;
    ret[length > 0 ? length : 0] = '\0';
    ret[strcspn (ret, "\n")] = '\0';
}

/* A supervisor has ended and left no directory: why? */
static void explain_absence (const struct rank *run, struct ending ending, char *why, size_t size)
{
    char sentence[SENTENCE_SIZE];
    read_sentence (run, sentence);
    if (*sentence)
        snprintf (why, size, "its supervisor could not begin: %s", sentence);
    else if (ending.known && WIFSIGNALED (ending.wait_status))
        snprintf (why, size, "its supervisor was killed by signal %d before it began",
                  WTERMSIG (ending.wait_status));
    else
        snprintf (why, size, "its supervisor ended before it began");
}

/* Has mpirun had enough time to start its ranks? */
static bool is_late (const struct generation *generation, const struct rank *mpirun)
{
    return mpirun->phase == RANK_RUNNING && mpirun->command_runs &&
           clock_monotonic_us () >= generation->since_us + MPI_START_US;
}

/* No directory, and no supervisor that this daemon knows: mpirun may still start one, or the run will
 * never start.  If mpirun ended without a request, that is a failure, even though all ranks are being
 * stopped because of it. */
static void see_none (struct local *local, struct generation *generation, int rank)
{
    const struct rank *mpirun = rank < generation->replicas ? generation_mpirun (generation) : NULL;
    if (mpirun && rank_is_gone (mpirun) && generation->stop != STOP_ASKED)
        local_refuse (local, generation, rank, false, "mpirun ended before it was started");
    else if (generation->stop != STOP_NONE)
        local_refuse (local, generation, rank, true, "");
    else if (mpirun && is_late (generation, mpirun))
        local_refuse (local, generation, rank, false, "mpirun has not started it for a minute");
}

/* The supervisor ended without a directory. */
static void see_failed_start (struct local *local, struct generation *generation, int rank,
                              struct ending ending)
{
    struct rank *run = &generation->ranks[rank];
    char why[RUN_WHY_SIZE];
    explain_absence (run, ending, why, sizeof (why));
    local_release (local, run);
    if (!ending.known && generation->stop == STOP_NONE && generation->job >= 0) {
        run->phase = RANK_WAITING; /* an earlier daemon had started it: start it again */
        generation->due_us = 0;
        return;
    }
    if (ending.known && WIFEXITED (ending.wait_status) && WEXITSTATUS (ending.wait_status) == 1)
        generation_carrier_failed (&local->set, generation); /* see pollux-exec(1) */
    local_refuse (local, generation, rank, generation->stop != STOP_NONE, why);
}

/* The supervisor has ended, and its files are gone or damaged.  It ended when no process of the run
 * was left, with the exit code of its replica. */
static void see_removed (struct local *local, struct generation *generation, int rank,
                         int wait_status)
{
    const struct rank *run = &generation->ranks[rank];
    struct run_name name = generation_run_name (generation, rank);
    int code = WEXITSTATUS (wait_status);
    bool by_signal = code > 128 && code <= 128 + 64 && code != 143; /* 143: saved, and exited */
    struct run_status status = {.started = true,
                                .code = by_signal ? 0 : code,
                                .signal = by_signal ? code - 128 : 0,
                                .stopped = run->stop_sent,
                                .at_us = clock_wall_us ()};
    if (generation->job >= 0)
        generation_log (&local->set, LOG_WARNING,
                        "run %s: its files were removed or damaged; its exit code is %d",
                        run_path (&name).text, code);
    generation_end_rank (&local->set, generation, rank, &status, false);
}

/* A supervisor lives: watch it, also if another daemon or mpirun started it. */
static void see_running (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    const struct run_info *info = &local->view->info;
    int file;
    if (run->supervisor < 0 && local->view->has_info &&
        ((info->guardian.pid > 0 && process_open (&info->guardian, info->boot, &file, NULL) == 0) ||
         process_open (&info->supervisor, info->boot, &file, NULL) == 0))
        local_watch (local, run, file);
    if (run->phase != RANK_RUNNING)
        generation_look_soon (&local->set, generation);
    run->phase = RANK_RUNNING;
    run->begun = true;
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
    struct run_name name = generation_run_name (generation, rank);
    struct pollux_error err = {.text = ""};
    struct run_status status = {.started = true, .signal = SIGKILL, .at_us = clock_wall_us ()};
    if (run->phase != RANK_KILLING) {
        if (generation->job >= 0)
            generation_log (&local->set, LOG_WARNING, "run %s is lost: %s", run_path (&name).text,
                            local->view->why.text);
        generation_look_soon (&local->set, generation);
    }
    run->phase = RANK_KILLING;
    int left = run_kill (local->runs.root, &name, local->view, &err);
    if (left < 0 && !run->error_logged) {
        run->error_logged = true;
        generation_log (&local->set, LOG_ERR, "%s; trying again", err.text);
    }
    if (left == 0) {
        snprintf (status.why, sizeof (status.why), "%s", local->view->why.text);
        run_settle (local->runs.root, &name, &status,
                    NULL); /* on failure the next daemon repeats it */
        generation_end_rank (&local->set, generation, rank, &status, true);
    }
}

/* ---- One look ----------------------------------------------------------------------------- */

/* Does a process of the run live that is no supervisor? */
static bool replica_lives (const struct local *local, const struct run_name *name)
{
    struct run_family family = run_family (local->runs.root, name);
    struct process_of_run *list;
    bool lives = false;
    int count;
    if (process_list_runs (&list, &count, NULL) < 0)
        return false;
    for (int i = 0; i < count; i++)
        lives |= !list[i].supervisor && strcmp (list[i].family, family.text) == 0;
    free (list);
    return lives;
}

/* The supervisor lives, whatever the files say. */
static void see_alive (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct run_name name = generation_run_name (generation, rank);
    if (local->view->state == RUN_RUNNING) {
        see_running (local, generation, rank);
        return;
    }
    if (!run->begun &&
        (*local->view->why.text || (clock_monotonic_us () >= generation->since_us + REMOVED_US &&
                                    replica_lives (local, &name))))
        run->begun = true;
    run->command_runs |= run->begun; /* it ends, or its files were removed */
}

/* The pidfd of the supervisor says that it has ended. */
static void see_ended (struct local *local, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct ending ending = {0};
    char sentence[SENTENCE_SIZE];
    ending.known = spawn_reap (run->supervisor, &ending.wait_status) == 1;
    bool exited = ending.known && WIFEXITED (ending.wait_status);
    read_sentence (run, sentence);
    if (local->view->state == RUN_NONE && (run->begun || *local->view->why.text)) {
        /* Its files are gone. */
    } else if (local->view->state == RUN_NONE && (*sentence || !exited)) {
        see_failed_start (local, generation, rank, ending);
        return;
    }
    switch (local->view->state) {
    case RUN_RUNNING: /* ours ended because another one had made the directory, or the guardian was
                         killed */
        local_release (local, run);
        see_running (local, generation, rank);
        break;
    case RUN_ENDED:
        generation_end_rank (&local->set, generation, rank, &local->view->status, false);
        break;
    case RUN_NONE:
    case RUN_LOST:
    case RUN_BEGUN:
        if (local->view->state == RUN_NONE && exited) {
            see_removed (local, generation, rank, ending.wait_status);
        } else {
            if (!*local->view->why.text)
                fail (&local->view->why, 0, "its supervisor died, and its files were removed");
            local_release (local, run);
            see_lost (local, generation, rank);
        }
        break;
    }
}

/* No supervisor is known: the files say what runs. */
static void see_files (struct local *local, struct generation *generation, int rank)
{
    const struct rank *run = &generation->ranks[rank];
    switch (local->view->state) {
    case RUN_NONE:
        if (generation->job < 0 || run->phase == RANK_KILLING || run->begun ||
            *local->view->why.text)
            see_lost (local, generation, rank);
        else
            see_none (local, generation, rank);
        break;
    case RUN_RUNNING:
        if (generation->job >= 0)
            see_running (local, generation, rank);
        else
            see_lost (local, generation, rank); /* the work of an orphan need not be saved */
        break;
    case RUN_ENDED:
        generation_end_rank (&local->set, generation, rank, &local->view->status, false);
        break;
    case RUN_LOST:
    case RUN_BEGUN:
        see_lost (local, generation, rank);
        break;
    }
}

/* A damaged directory counts as none, with the damage in `why`. */
int local_look (void *self, struct generation *generation, int rank, struct pollux_error *err)
{
    struct local *local = self;
    struct run_name name = generation_run_name (generation, rank);
    const struct rank *run = &generation->ranks[rank];
    bool lives = supervisor_lives (run); /* before its files, which it writes before it ends */
    struct pollux_error why = {.text = ""};
    int code = run_look (local->runs.root, &name, local->view, &why);
    if (code < 0 && (!run_is_damage (code) || (code == -EPROTO && lives)))
        return fail (err, code, "%s", why.text);
    if (code < 0) {
        memset (local->view, 0, sizeof (*local->view));
        local->view->why = why;
    }
    if (lives)
        see_alive (local, generation, rank);
    else if (run->supervisor >= 0)
        see_ended (local, generation, rank);
    else
        see_files (local, generation, rank);
    return 0;
}
