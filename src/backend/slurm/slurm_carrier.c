/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of struct carrier for Slurm, and the regular work of the backend: taking the ends of
 * commands, asking Slurm, repeating requests to stop.
 */
#define _GNU_SOURCE /* strcasestr */
#include "backend/slurm/slurm_carrier.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

#define SECOND_US INT64_C (1000000)
/* A request to stop can be lost with slurmctld or a node; supervisors take it once. */
#define SIGNAL_US (2 * SECOND_US)
/* A step ends some seconds after its srun was killed, a share after its first rank. */
#define WATCH_US (30 * SECOND_US)
/* After a request that could not be sent: too many commands at once, for example. */
#define RETRY_US (SECOND_US / 10)
/* After the grace, in which the supervisor kills its replica by itself. */
#define KILL_US (10 * SECOND_US)
/* After the first cancel.  If a step's srun, slurmd and slurmctld die at the same time, Slurm may list the
 * step for ever.  Its runs cannot do harm: reports and checkpoints of old generations are refused. */
#define GIVE_UP_US (60 * SECOND_US)
/* A step without its srun.  A srun that is killed between the creation of its step and the start of the processes, for
 * example with polluxd, leaves a step that Slurm lists until the allocation ends.  The start itself takes less than a
 * second; a supervisor that begins even later than this is refused. */
#define ORPHAN_US (30 * SECOND_US)
/* Between later cancels of such a share: its node may come back, with its replicas. */
#define ABANDONED_US (30 * SECOND_US)
/* Ends from outside, in succession, after which a job starts again at once.  More of them have a pause in
 * between: a partition that preempts all the time must not be asked all the time. */
enum { FREE_RESTARTS = 5 };
enum { FIRST_PAUSE_S = 10, LONGEST_PAUSE_S = 600 };
/* Ends in succession without a known reason: supervisors are killed.  What kills them may be the job, for
 * example if it takes all memory; so this many are excused. */
enum { UNEXPLAINED = 5 };
/* A generation that ran longer than this has made progress. */
#define LONG_US (600 * SECOND_US)

static const char node_failed[] = "its node has failed";

void slurm_log (const struct slurm *slurm, int level, const char *format, ...)
{
    struct pollux_error text;
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (text.text, sizeof (text.text), format, arguments);
    va_end (arguments);
    generation_log (&slurm->set, level, "%s", text.text);
}

/* The share of a rank, as it is in Slurm; NULL: not submitted. */
static struct carried_share *share_of (const struct generation *generation, int rank)
{
    return generation_share_of (generation, rank)->carried;
}

/* ---- Starting ----------------------------------------------------------------------------- */

static void free_files (struct slurm_file *files, int count)
{
    for (int i = 0; i < count; i++) {
        if (files[i].text)
            explicit_bzero (files[i].text, files[i].length); /* it contains the token */
        free (files[i].text);
    }
    free (files);
}

/* The descriptions of all ranks of a share. */
static int describe (struct slurm *slurm, const struct cluster *cluster,
                     const struct generation *generation, const struct generation_share *share,
                     struct slurm_file **ret, struct pollux_error *err)
{
    struct run_spec spec = {.cluster = cluster, .job = cluster->jobs[generation->job]};
    struct slurm_file *files = calloc ((size_t)share->count, sizeof (files[0]));
    int code = files ? 0 : fail (err, -ENOMEM, "not enough memory");
    slurm->way->spec (slurm->way_self, cluster, generation, &spec);
    for (int i = 0; code == 0 && i < share->count; i++) {
        snprintf (files[i].name, sizeof (files[i].name), "%d.json", share->first + i);
        code = run_spec_describe (&spec, share->first + i, &files[i].text, &files[i].length, err);
    }
    if (code < 0 && files)
        free_files (files, share->count);
    else
        *ret = files;
    return code;
}

/* The share cannot be submitted now: its ranks end, which is not the job's failure and delays no other job. */
static void excuse_start (struct slurm *slurm, struct generation *generation, int number,
                          const char *why)
{
    const struct generation_share *share = &generation->shares[number];
    struct run_status status = {.code = 126, .excused = true, .at_us = clock_wall_us ()};
    snprintf (status.why, sizeof (status.why), "%s", why);
    for (int i = share->first; i < share->first + share->count; i++)
        if (generation->ranks[i].phase == RANK_WAITING)
            generation_end_rank (&slurm->set, generation, i, &status, false);
}

static int start (void *self, const struct cluster *cluster, struct generation *generation,
                  int number, struct pollux_error *err)
{
    struct slurm *slurm = self;
    const struct generation_share *share = &generation->shares[number];
    struct slurm_file *files;
    int code = describe (slurm, cluster, generation, share, &files, err);
    if (code < 0)
        return code;
    struct carried_share *carried = slurm_table_add (slurm, generation, number, CARRIED_SENT);
    if (!carried) {
        code = fail (err, -ENOMEM, "not enough memory");
    } else {
        carried->grace_s = cluster->jobs[generation->job]->launch->grace_s;
        code = slurm->way->submit (slurm->way_self, cluster, carried, files, share->count, err);
        if (code < 0)
            slurm_table_drop (slurm, carried);
    }
    free_files (files, share->count);
    if (code == -EAGAIN && slurm->way->many_owners) {
        excuse_start (slurm, generation, number, err->text);
        code = 0;
    }
    for (int i = 0; code == 0 && i < share->count; i++)
        if (generation->ranks[share->first + i].phase == RANK_WAITING)
            generation->ranks[share->first + i].phase = RANK_STARTING;
    return code;
}

/* The line of srun's messages that says most: the first with one of the words, else the last. */
static bool find_reason (const char *text, char *ret, size_t size)
{
    static const char *const words[] = {"CANCELLED",    "NODE FAIL",  "Node fail",
                                        "node failure", "TIME LIMIT", "PREEMPT"};
    for (const char *line = text, *next; line && *line; line = next) {
        size_t length = strcspn (line, "\n");
        next = line[length] ? line + length + 1 : NULL;
        /* Skipped: empty and long lines, and srun's warning that CPU binding is not supported. */
        if (length == 0 || length >= size || strncmp (line, "srun: cluster config", 20) == 0)
            continue;
        memcpy (ret, line, length);
        ret[length] = '\0';
        for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
            if (strstr (ret, words[i]))
                return true;
    }
    return false;
}

void slurm_share_ended (struct slurm *slurm, struct carried_share *share,
                        const struct command_result *result)
{
    char line[RUN_WHY_SIZE - 64] = "";
    share->command = 0;
    share->watch_us = clock_monotonic_us () + WATCH_US;
    if (result && result->code < 0) {
        bool outside = find_reason (result->error, line, sizeof (line));
        if (result->signal)
            snprintf (share->why, sizeof (share->why), "srun was killed by signal %d",
                      result->signal);
        else
            snprintf (share->why, sizeof (share->why), "srun ended with %d%s%s", result->exit_code,
                      *line ? ": " : "", line);
        utf8_disarm (share->why);
        share->excused |= (outside || result->signal) && share->cancel_us == 0;
        if (strcasestr (line, "node fail"))
            slurm_share_failed (slurm, share);
    }
    /* A srun that was killed says nothing of its step. */
    if (result && result->exit_code >= 0 && share->listed_count <= 1)
        slurm_set_state (slurm, share, CARRIED_GONE);
    else
        slurm_poll_soon (slurm);
}

/* ---- Looking ------------------------------------------------------------------------------ */

/* Was a rank asked to stop, and not by this daemon: Slurm's own SIGTERM?  Its supervisor knows, unless it
 * is of an earlier version. */
static bool is_stopped_outside (const struct generation *generation,
                                const struct carried_share *share, const struct run_status *status)
{
    return status->stopped && share->cancel_us == 0 &&
           (status->outside || (share->stop_us == 0 && generation->stop != STOP_ASKED));
}

static void end_rank (struct slurm *slurm, struct generation *generation, int rank,
                      const struct run_status *status, bool lost)
{
    struct carried_share *share = share_of (generation, rank);
    if (share && !share->excused && is_stopped_outside (generation, share, status)) {
        share->excused = true;
        snprintf (share->why, sizeof (share->why), "Slurm, or a person with scancel, stopped it");
    }
    generation_end_rank (&slurm->set, generation, rank, status, lost);
}

static bool has_failed (const struct slurm *slurm, int node)
{
    return slurm->way->lists_dead_shares && slurm_lacks_node (slurm, node);
}

/* True if the share has ended, or if Slurm still lists it although its node has failed. */
static bool is_over (const struct slurm *slurm, const struct carried_share *share)
{
    return slurm_share_is_gone (slurm, share) ||
           (share->cancel_us > 0 && clock_monotonic_us () >= share->cancel_us + GIVE_UP_US);
}

/* A run directory with this status keeps a supervisor that begins late from starting its replica.  If the directory cannot
 * be made, and no supervisor can begin any more, the rank ends without it. */
static void refuse (void *self, struct generation *generation, int rank, bool stopped,
                    const char *why)
{
    struct slurm *slurm = self;
    struct run_name name = generation_run_name (generation, rank);
    const struct carried_share *share = share_of (generation, rank);
    struct run_status status = {.code = stopped ? 143 : 126,
                                .stopped = stopped,
                                .excused = !stopped && share && share->excused,
                                .at_us = clock_wall_us ()};
    struct pollux_error err = {.text = ""};
    snprintf (status.why, sizeof (status.why), "%s", why);
    int code = slurm->way->refuse (slurm->way_self, &name, &status, &err);
    struct rank *run = &generation->ranks[rank];
    bool over = !share || is_over (slurm, share);
    if (code == -EEXIST || (code == -EAGAIN && !over)) {
        run->phase = RANK_STARTING;
        generation_look_soon (&slurm->set, generation);
    } else if (code < 0 && code != -ENOENT && !over) {
        if (!run->error_logged)
            slurm_log (slurm, LOG_ERR, "%s; trying again", err.text);
        run->error_logged = true;
    } else {
        generation_end_rank (&slurm->set, generation, rank, &status, false);
    }
}

/* The share has ended, and its runs have not begun.  In an allocation of one owner it is likely that Slurm starts no steps,
 * and all starts wait.  Where there are several owners, the reason may be the job itself: the run is lost, which is
 * excused a few times, and no other job waits. */
static void see_failed_start (struct slurm *slurm, struct generation *generation, int rank,
                              struct carried_share *share)
{
    struct run_status status = {.code = 126, .at_us = clock_wall_us ()};
    bool known = share->refused || share->excused;
    if (!*share->why && slurm->way->many_owners)
        snprintf (share->why, sizeof (share->why),
                  "its Slurm job ended before its supervisor began: see run/%s/%d/share-%d.out",
                  generation->name, generation->number, share->share);
    else if (!*share->why)
        snprintf (share->why, sizeof (share->why), "its step ended before its supervisor began");
    memcpy (status.why, share->why, sizeof (status.why));
    if (!known && slurm->way->many_owners && !share->no_process) {
        end_rank (slurm, generation, rank, &status, true);
        return;
    }
    if (!known)
        generation_carrier_failed (&slurm->set, generation);
    refuse (slurm, generation, rank, false, status.why);
}

/* Does Slurm list a step that nobody starts: its srun is not ours, or has ended, and none of its runs has begun? */
static bool is_orphaned (const struct slurm *slurm, const struct generation *generation,
                         const struct carried_share *share)
{
    const struct generation_share *ranks = &generation->shares[share->share];
    bool begun = false;
    for (int i = ranks->first; i < ranks->first + ranks->count; i++)
        begun |= generation->ranks[i].begun;
    return slurm->way->steps && share->state == CARRIED_LISTED && share->command == 0 &&
           share->cancel_us == 0 && !begun && clock_monotonic_us () >= share->since_us + ORPHAN_US;
}

/* The share ends when Slurm does not list it any more, or when Slurm cannot end it (is_over).  A cancel that could not be
 * sent is repeated at the next look. */
static void cancel_orphan (struct slurm *slurm, struct carried_share *share)
{
    if (slurm->way->cancel (slurm->way_self, share) < 0)
        return;
    int64_t now_us = clock_monotonic_us ();
    share->cancel_us = share->kill_us = now_us;
    share->watch_us = now_us + WATCH_US;
    share->excused = true;
    snprintf (share->why, sizeof (share->why), "its srun ended before its step began");
    slurm_log (slurm, LOG_WARNING, "share %s: %s; the step is cancelled", share->name, share->why);
    slurm_poll_soon (slurm);
}

/* No run directory: it is not started yet, or it never will be. */
static void see_none (struct slurm *slurm, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct carried_share *share = share_of (generation, rank);
    if (generation->stop != STOP_NONE) {
        refuse (slurm, generation, rank, true, "");
    } else if (!share) {
        run->phase = RANK_WAITING; /* its share was not submitted */
    } else if (has_failed (slurm, run->node)) {
        generation_carrier_failed (&slurm->set, generation);
        refuse (slurm, generation, rank, false, node_failed);
    } else if (is_over (slurm, share)) {
        see_failed_start (slurm, generation, rank, share);
    } else if (is_orphaned (slurm, generation, share)) {
        cancel_orphan (slurm, share);
    }
}

static void see_begun (struct slurm *slurm, struct generation *generation, int rank)
{
    struct rank *run = &generation->ranks[rank];
    struct carried_share *share = share_of (generation, rank);
    struct run_name name = generation_run_name (generation, rank);
    struct run_status status = {.started = true, .signal = SIGKILL, .at_us = clock_wall_us ()};
    if (*slurm->view->why.text && !run->error_logged) {
        run->error_logged = true;
        slurm_log (slurm, LOG_WARNING, "run %s: %s", run_path (&name).text, slurm->view->why.text);
    }
    if (run->phase != RANK_RUNNING)
        generation_look_soon (&slurm->set, generation);
    run->phase = RANK_RUNNING;
    run->begun = true;
    run->command_runs |= slurm->view->has_replica;
    bool failed = has_failed (slurm, run->node);
    if (share && !failed && !is_over (slurm, share))
        return;
    if (share && share->state != CARRIED_GONE && !failed && !share->excused) {
        share->excused = true;
        snprintf (share->why, sizeof (share->why), "Slurm lists it, but cannot end it");
    }
    snprintf (status.why, sizeof (status.why), "%s",
              failed                 ? node_failed
              : share && *share->why ? share->why
                                     : "Slurm does not have it any more");
    end_rank (slurm, generation, rank, &status, true);
}

/* A share that an earlier daemon may have submitted.  0: Slurm has or had it, or it was never
 * submitted, and the carrier submits it; 1: not known yet. */
static int settle_unsure (struct slurm *slurm, struct carried_share *share,
                          struct pollux_error *err)
{
    struct generation *generation = share->generation;
    const struct generation_share *ranks = &generation->shares[share->share];
    bool none = true;
    if (share->state == CARRIED_LISTED) {
        share->unsure = false;
        return 0;
    }
    if (!slurm_share_is_gone (slurm, share) || slurm->node_count < 0)
        return 1;
    for (int i = 0; none && i < ranks->count; i++) {
        struct run_name name = generation_run_name (generation, ranks->first + i);
        int code = slurm->way->read (slurm->way_self, &name, slurm->view, err);
        if (code < 0)
            return code == -EAGAIN ? 1 : code;
        none = slurm->view->state == RUN_NONE && !generation->ranks[ranks->first + i].begun;
    }
    share->unsure = false;
    if (none) /* look sees that its ranks are to be started */
        slurm_table_drop (slurm, share);
    return 0;
}

static int look (void *self, struct generation *generation, int rank, struct pollux_error *err)
{
    struct slurm *slurm = self;
    struct run_name name = generation_run_name (generation, rank);
    struct carried_share *share = share_of (generation, rank);
    int unsure = share && share->unsure && generation->stop == STOP_NONE
                     ? settle_unsure (slurm, share, err)
                     : 0;
    if (unsure != 0)
        return unsure < 0 ? unsure : 0;
    int code = slurm->way->read (slurm->way_self, &name, slurm->view, err);
    if (code < 0)
        return code == -EAGAIN ? 0 : code;
    /* What this daemon knows wins over files that a job can remove. */
    if (slurm->view->state == RUN_NONE && !generation->ranks[rank].begun)
        see_none (slurm, generation, rank);
    else if (slurm->view->has_status)
        end_rank (slurm, generation, rank, &slurm->view->status, false);
    else
        see_begun (slurm, generation, rank);
    return 0;
}

static void news (void *self, struct generation *generation, const struct run_news *news)
{
    struct slurm *slurm = self;
    struct rank *run = &generation->ranks[news->rank];
    if (run->phase != RANK_STARTING && run->phase != RANK_RUNNING)
        return;
    run->phase = RANK_RUNNING;
    run->begun = run->command_runs = true;
    if (!news->ended)
        return;
    /* The share ends soon, perhaps without news of its other ranks: their supervisors were killed. */
    struct carried_share *share = share_of (generation, news->rank);
    if (share) {
        share->watch_us = clock_monotonic_us () + WATCH_US;
        slurm_poll_soon (slurm);
    }
    end_rank (slurm, generation, news->rank, &news->status, false);
}

/* ---- Stopping ----------------------------------------------------------------------------- */

/* slurm_step sends the signals. */
static void stop (void *self, struct generation *generation, int share)
{
    (void)self;
    struct carried_share *carried = generation->shares[share].carried;
    if (carried && carried->stop_us == 0)
        carried->stop_us = clock_monotonic_us ();
}

static void mark_stop (void *self, struct generation *generation)
{
    struct slurm *slurm = self;
    slurm->way->mark_stop (slurm->way_self, generation);
}

static int64_t kill_due_us (const struct carried_share *share)
{
    if (share->abandoned)
        return (share->kill_us > 0 ? share->kill_us : share->since_us) + ABANDONED_US;
    if (share->kill_us > 0)
        return share->kill_us + KILL_US;
    if (!share->generation)
        return share->since_us + KILL_US;
    return share->stop_us + (int64_t)(share->grace_s * 1e6) + KILL_US;
}

/* Has the share to be stopped: a request is due at the returned time; INT64_MAX: no. */
static int64_t stop_due_us (const struct carried_share *share)
{
    if (share->state == CARRIED_GONE || (share->abandoned && share->state != CARRIED_LISTED) ||
        (share->generation && share->stop_us == 0))
        return INT64_MAX;
    int64_t due_us = kill_due_us (share);
    if (!share->abandoned && share->state == CARRIED_LISTED && share->stop_us > 0 &&
        share->kill_us == 0) {
        int64_t signal_us = share->signal_us > 0 ? share->signal_us + SIGNAL_US : 0;
        due_us = signal_us < due_us ? signal_us : due_us;
    }
    return due_us;
}

static void stop_share (struct slurm *slurm, struct carried_share *share, int64_t now_us)
{
    if (stop_due_us (share) > now_us)
        return;
    if (now_us >= kill_due_us (share)) {
        if (share->kill_us == 0)
            slurm_log (slurm, LOG_WARNING, "share %s does not end: it is cancelled", share->name);
        share->kill_us = now_us;
        if (share->cancel_us == 0)
            share->cancel_us = now_us;
        bool known = share->listed_count > 0 || share->id > 0;
        if (known && slurm->way->cancel (slurm->way_self, share) < 0)
            share->kill_us = now_us - KILL_US + RETRY_US;
        else if (known)
            slurm_poll_soon (slurm);
        else if (share->command != 0 && command_set_cancel (slurm->commands, share->command))
            slurm_share_ended (slurm, share, NULL);
        return;
    }
    /* A job that waits in Slurm has no processes to signal: it is cancelled, and this is no end from outside. */
    bool waits = share->phase == SLURM_COMING;
    share->signal_us = now_us;
    if (waits && share->cancel_us == 0)
        share->cancel_us = now_us;
    if ((waits ? slurm->way->cancel : slurm->way->signal) (slurm->way_self, share) < 0)
        share->signal_us = now_us - SIGNAL_US + RETRY_US;
}

static void release_share (void *self, struct generation *generation, int share)
{
    struct slurm *slurm = self;
    struct carried_share *carried = generation->shares[share].carried;
    if (!carried)
        return;
    carried->generation = NULL;
    generation->shares[share].carried = NULL;
    if (carried->state != CARRIED_GONE)
        slurm_set_state (slurm, carried, carried->state); /* since now */
}

static void release (void *self, struct rank *rank)
{
    (void)self;
    rank->notified = false;
}

/* ---- Excuses ------------------------------------------------------------------------------ */

int slurm_pause_s (int count)
{
    int pause_s = count > FREE_RESTARTS ? FIRST_PAUSE_S : 0;
    for (int i = FREE_RESTARTS + 1; i < count && pause_s < LONGEST_PAUSE_S; i++)
        pause_s *= 2;
    return pause_s < LONGEST_PAUSE_S ? pause_s : LONGEST_PAUSE_S;
}

static void forget_excuses (void *self, int job)
{
    excuse_counts_forget (&((struct slurm *)self)->excuses, job);
}

/* Not while it is unknown which node has failed. */
static bool may_start (void *self)
{
    return ((const struct slurm *)self)->unnamed_failure_us == 0;
}

/* Did a replica of a generation of one share fail by itself, before Slurm or a person stopped the others?  When
 * one MPI rank dies, Slurm cancels the step; when one replica disappears, others fail.  The order is that in
 * which this daemon heard of the ends: clocks of nodes differ. */
static bool failed_first (const struct generation *generation)
{
    int64_t failed_us = INT64_MAX, stopped_us = INT64_MAX;
    for (int i = 0; i < generation->replicas; i++) {
        const struct replica_exit *exit = &generation->exits[i];
        int64_t *first_us = exit->status.stopped ? &stopped_us : &failed_us;
        int64_t at_us = generation->ranks[i].ended_us;
        if (!exit->lost && !exit->status.excused &&
            (exit->status.stopped || replica_exit_failed (exit)) && at_us < *first_us)
            *first_us = at_us;
    }
    return failed_us != INT64_MAX && failed_us <= stopped_us;
}

/* Did a replica fail by itself? */
static bool has_failure (const struct generation *generation)
{
    for (int i = 0; i < generation->replicas; i++) {
        const struct replica_exit *exit = &generation->exits[i];
        if (!exit->lost && !exit->status.excused && replica_exit_failed (exit))
            return true;
    }
    return false;
}

/* A replica that was lost, with the share that caused it: one that this daemon did not cancel, if there is one.  -1:
 * none was lost. */
static int find_lost (const struct generation *generation)
{
    int lost = -1;
    for (int i = 0; i < generation->replicas; i++) {
        const struct carried_share *share = share_of (generation, i);
        if (!generation->exits[i].lost)
            continue;
        if (!share || share->cancel_us == 0)
            return i;
        lost = i;
    }
    return lost;
}

/* Does Slurm's own word, besides that of a supervisor, say that a share was ended from outside?  When a rank of a step of
 * MPI aborts, Slurm kills the step at once, and says the same as after a person's scancel: only the latter lets
 * supervisors write that they were stopped. */
static bool is_explained (const struct generation *generation, const struct carried_share *share)
{
    bool stopped = false;
    for (int i = 0; i < generation->replicas; i++)
        stopped |= !generation->exits[i].lost && generation->exits[i].status.stopped;
    return !share->many_nodes || stopped || !strstr (share->why, "CANCELLED") ||
           strstr (share->why, "DUE TO");
}

/* Why the generation ended from outside; NULL: it did not.
 *
 * Shares end together.  If Slurm stops one of them, replicas of the others may fail, and they may end earlier,
 * because those that were asked to stop write checkpoints first.  If a replica fails, this daemon stops the
 * other shares, and their supervisors know that it was not Slurm.  So any share that was ended from outside is
 * the reason, whatever the times of the ends are.  Within one share the first end is the reason. */
static const char *outside_reason (struct slurm *slurm, const struct generation *generation,
                                   bool *ret_explained)
{
    *ret_explained = true;
    for (int i = 0; i < generation->replicas; i++)
        if (generation->exits[i].lost && slurm_lacks_node (slurm, generation->ranks[i].node))
            return node_failed;
    if (generation->share_count == 1 && failed_first (generation))
        return NULL;
    for (int i = 0; i < generation->share_count; i++) {
        const struct carried_share *share = generation->shares[i].carried;
        if (share && share->excused) {
            *ret_explained = is_explained (generation, share);
            return share->why;
        }
    }
    for (int i = 0; i < generation->replicas; i++)
        if (generation->exits[i].status.excused) /* its supervisor says so */
            return generation->exits[i].status.why;
    int rank = find_lost (generation);
    const struct carried_share *lost = rank >= 0 ? share_of (generation, rank) : NULL;
    if (rank < 0 || (lost && lost->cancel_us > 0 && has_failure (generation)))
        return NULL;
    *ret_explained = false;
    return lost && *lost->why ? lost->why : "its supervisor was killed";
}

/* Would a start at once end in the same way: by a limit of Slurm, or a job that Slurm takes and does not show? */
static bool is_lasting (const struct generation *generation)
{
    for (int i = 0; i < generation->share_count; i++) {
        const struct carried_share *share = generation->shares[i].carried;
        if (share && (share->limited || share->hidden))
            return true;
    }
    return false;
}

static const char *excuse (void *self, const struct generation *generation,
                           struct pollux_error *text, int *ret_pause_s)
{
    struct slurm *slurm = self;
    bool explained;
    const char *reason = outside_reason (slurm, generation, &explained);
    struct excuse_count *excuses =
        reason ? excuse_counts_of (&slurm->excuses, generation->job) : NULL;
    int64_t now_us = clock_monotonic_us ();
    if (!excuses)
        return NULL;
    if (now_us > generation->since_us + LONG_US)
        excuses->count = excuses->unexplained = 0;
    excuses->unexplained = explained ? 0 : excuses->unexplained + 1;
    if (excuses->unexplained > UNEXPLAINED)
        return NULL;
    if (is_lasting (generation) && excuses->count < FREE_RESTARTS)
        excuses->count = FREE_RESTARTS;
    *ret_pause_s = slurm_pause_s (++excuses->count);
    if (*ret_pause_s > 0)
        slurm_log (slurm, LOG_WARNING, "job %s starts again in %d s: %s", generation->name,
                   *ret_pause_s, reason);
    fail (text, 0, "%s", reason);
    return text->text;
}

static void clean_up (void *self, const struct cluster *cluster,
                      const struct generation *generation)
{
    struct slurm *slurm = self;
    slurm->way->clean_up (slurm->way_self, cluster, generation);
}

static void remove_generation (void *self, const char *job, int number)
{
    struct slurm *slurm = self;
    slurm->way->remove (slurm->way_self, job, number);
}

const struct carrier slurm_carrier = {
    .pause_us = SECOND_US,
    .pause_limit_us = 15 * SECOND_US,
    .mpirun = false,
    .start = start,
    .look = look,
    .news = news,
    .refuse = refuse,
    .stop = stop,
    .mark_stop = mark_stop,
    .release = release,
    .release_share = release_share,
    .excuse = excuse,
    .forget_excuses = forget_excuses,
    .may_start = may_start,
    .clean_up = clean_up,
    .remove = remove_generation,
};

/* ---- Regular work ------------------------------------------------------------------------- */

int slurm_init (struct slurm *slurm, const struct slurm_way *way, void *way_self,
                const struct backend_options *options, struct pollux_error *err)
{
    slurm->set = (struct generation_set){.carrier = &slurm_carrier,
                                         .carrier_self = slurm,
                                         .log = options->log,
                                         .log_self = options->self,
                                         .one_mpi_share = way->steps};
    slurm->way = way;
    slurm->node_count = -1;
    slurm->way_self = way_self;
    slurm->view = calloc (1, sizeof (*slurm->view));
    if (!slurm->view)
        return fail (err, -ENOMEM, "no memory for the Slurm backend");
    return command_set_new (&slurm->commands, err);
}

void slurm_clear (struct slurm *slurm)
{
    slurm->cluster = NULL; /* the caller may have freed it */
    if (slurm->set.carrier)
        generation_set_clear (&slurm->set);
    while (slurm->count > 0)
        slurm_table_drop (slurm, slurm->shares[slurm->count - 1]);
    command_set_free (slurm->commands);
    free (slurm->shares);
    excuse_counts_clear (&slurm->excuses);
    free (slurm->nodes);
    free (slurm->view);
}

static int64_t earlier_us (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Slurm is asked when the daemon runs. */
int slurm_nodes_later (void *self, const struct node **ret, struct pollux_error *err)
{
    (void)self;
    (void)ret;
    (void)err;
    return -EAGAIN;
}

int64_t slurm_due_us (const void *self)
{
    const struct slurm *slurm = self;
    int64_t due_us = generation_set_due_us (&slurm->set);
    if (slurm->query == 0)
        due_us = earlier_us (due_us, slurm->query_us);
    due_us = earlier_us (due_us, command_set_due_us (slurm->commands));
    if (slurm->poll == 0)
        due_us = earlier_us (due_us, slurm->poll_us);
    for (int i = 0; i < slurm->count; i++)
        due_us = earlier_us (due_us, stop_due_us (slurm->shares[i]));
    return due_us;
}

/* Its srun waits for a node that does not answer. */
static void abandon (struct slurm *slurm, struct carried_share *share)
{
    share->abandoned = true;
    if (share->command != 0 && command_set_cancel (slurm->commands, share->command))
        share->command = 0;
}

int slurm_reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    struct slurm *slurm = self;
    slurm->cluster = &loop->cluster;
    if (slurm->node_count < 0)
        return 0; /* nothing starts before the nodes are known */
    return generation_set_reconcile (&slurm->set, loop, err);
}

void slurm_step (struct slurm *slurm, const struct cluster *cluster)
{
    slurm->cluster = cluster;
    command_set_turn (slurm->commands, clock_monotonic_us ());
    slurm_table_poll (slurm);
    generation_set_step (&slurm->set, cluster);
    int64_t now_us = clock_monotonic_us ();
    for (int i = 0; i < slurm->count; i++)
        stop_share (slurm, slurm->shares[i], now_us);
    for (int i = slurm->count - 1; i >= 0; i--) {
        struct carried_share *share = slurm->shares[i];
        if (!share->generation && !share->abandoned &&
            (has_failed (slurm, share->node) || is_over (slurm, share)))
            abandon (slurm, share);
        if (share->generation || share->state != CARRIED_GONE)
            continue;
        if (share->command != 0 && now_us >= share->since_us + KILL_US &&
            command_set_cancel (slurm->commands, share->command))
            share->command = 0;
        if (share->command == 0)
            slurm_table_drop (slurm, share);
    }
}
