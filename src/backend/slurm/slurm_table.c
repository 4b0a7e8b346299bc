/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of shares, and the queries that keep it up to date: one squeue for all shares, every
 * second while something changes and every 15 seconds otherwise.  A query that fails changes no
 * share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/slurm/slurm_carrier.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#define SECOND_US INT64_C (1000000)
#define POLL_BUSY_US SECOND_US
#define POLL_QUIET_US (15 * SECOND_US)
/* A query takes 0.1 s for 1,000 jobs; a slurmctld that restarts answers within some seconds. */
#define POLL_DEADLINE_US (30 * SECOND_US)

bool slurm_lacks_node (const struct slurm *slurm, int node)
{
    if (slurm->node_count < 0 || !slurm->cluster)
        return false;
    const struct node *found =
        node_find (slurm->nodes, slurm->node_count, slurm->cluster->nodes[node].name);
    return !found || found->slots == 0;
}

/* ---- The table ---------------------------------------------------------------------------- */

struct carried_share *slurm_table_add (struct slurm *slurm, struct generation *generation,
                                       int share, enum carried_state state)
{
    struct carried_share **shares =
        array_grow (slurm->shares, slurm->count, &slurm->capacity, sizeof (shares[0]));
    if (!shares)
        return NULL;
    slurm->shares = shares;
    struct carried_share *added = calloc (1, sizeof (*added));
    if (!added)
        return NULL;
    added->slurm = slurm;
    added->generation = generation;
    added->share = share;
    added->node = generation->shares[share].node;
    added->count = generation->shares[share].count;
    added->many_nodes = generation->launcher == LAUNCHER_MPI && slurm->way->steps;
    snprintf (added->name, sizeof (added->name), "%s.%d.%d", generation->name, generation->number,
              share);
    slurm->shares[slurm->count++] = added;
    generation->shares[share].carried = added;
    slurm_set_state (slurm, added, state);
    return added;
}

void slurm_table_drop (struct slurm *slurm, struct carried_share *share)
{
    int at = 0;
    while (slurm->shares[at] != share)
        at++;
    slurm->shares[at] = slurm->shares[--slurm->count];
    if (share->generation)
        share->generation->shares[share->share].carried = NULL;
    if (slurm->way->left)
        slurm->way->left (slurm->way_self, share);
    free (share);
}

/* Every change of a state is followed by a query, and its generation is looked at. */
void slurm_set_state (struct slurm *slurm, struct carried_share *share, enum carried_state state)
{
    share->state = state;
    share->since_us = clock_monotonic_us ();
    slurm_poll_soon (slurm);
    if (share->generation) {
        share->generation->due_us = 0;
        generation_look_soon (&slurm->set, share->generation);
    }
}

bool slurm_share_is_gone (const struct slurm *slurm, const struct carried_share *share)
{
    return share->state == CARRIED_GONE && slurm->listed_us > share->since_us + SLURM_FILES_US;
}

/* Of a step of MPI any node may have failed.  They are not all reported: other jobs run on the good ones, and would
 * count as lost with them. */
void slurm_share_failed (struct slurm *slurm, const struct carried_share *share)
{
    slurm->query_us = 0;
    if (share->many_nodes)
        slurm->unnamed_failure_us = clock_monotonic_us ();
    else if (slurm->way->node_failed)
        slurm->way->node_failed (slurm->way_self, share->node);
}

/* Will the next query probably show something new? */
static bool is_changing (const struct carried_share *share)
{
    return !share->abandoned && (share->state != CARRIED_LISTED || share->stop_us > 0 ||
                                 !share->generation || share->watch_us > clock_monotonic_us ());
}

static int64_t pause_us (const struct slurm *slurm)
{
    for (int i = 0; i < slurm->count; i++)
        if (is_changing (slurm->shares[i]))
            return POLL_BUSY_US;
    return POLL_QUIET_US;
}

void slurm_poll_soon (struct slurm *slurm)
{
    int64_t at_us = slurm->poll_began_us + POLL_BUSY_US;
    if (at_us < slurm->poll_us)
        slurm->poll_us = at_us;
}

/* ---- What squeue says --------------------------------------------------------------------- */

static bool is_share (const struct slurm *slurm, const struct carried_share *share,
                      const struct slurm_job *job)
{
    return strcmp (job->name, share->name) == 0 &&
           (!slurm->way->owns || slurm->way->owns (slurm->way_self, share, job));
}

static void set_phase (struct carried_share *share, enum slurm_phase phase)
{
    if (phase != share->phase || share->phase_us == 0)
        share->phase_us = clock_monotonic_us ();
    share->phase = phase;
}

/* Slurm has or had the share.  If sbatch did not answer, this is no reason for an end any more. */
static void set_seen (struct carried_share *share)
{
    share->seen = true;
    if (!share->unanswered)
        return;
    share->unanswered = share->excused = false;
    share->why[0] = '\0';
}

static void take_listed (struct slurm *slurm, struct carried_share *share,
                         const struct slurm_jobs *jobs)
{
    const struct slurm_job *ended = NULL; /* it stays listed for some minutes, with how it ended */
    share->listed_count = 0;
    for (int i = 0; i < jobs->count && share->listed_count < SHARE_STEPS; i++) {
        const struct slurm_job *job = &jobs->list[i];
        if (!is_share (slurm, share, job) || strlen (job->step) >= STEP_SIZE)
            continue;
        if (job->phase == SLURM_ENDED || job->phase == SLURM_EXCUSED) {
            ended = ended ? ended : job;
            continue;
        }
        share->listed[share->listed_count].id = job->id;
        strcpy (share->listed[share->listed_count++].step, job->step);
        set_phase (share, job->phase);
    }
    bool listed = share->listed_count > 0;
    if (listed || ended)
        set_seen (share);
    if (!listed && ended && ended->phase == SLURM_EXCUSED && !share->excused && !share->refused &&
        share->cancel_us == 0) {
        share->excused = true;
        snprintf (share->why, sizeof (share->why), "Slurm ended it: %s", ended->state);
        if (slurm_is_node_failure (ended->state))
            slurm_share_failed (slurm, share);
    }
    if (listed && share->state != CARRIED_LISTED)
        slurm_set_state (slurm, share, CARRIED_LISTED);
    /* What was sent before the query began and is not listed: srun may still be asking for its step. */
    else if (!listed && share->state == CARRIED_SENT && share->command == 0 &&
             share->since_us < slurm->poll_began_us) {
        share->excused |= share->unanswered;
        slurm_set_state (slurm, share, CARRIED_GONE);
    } else if (!listed && (share->state == CARRIED_LISTED || share->state == CARRIED_UNSURE) &&
               share->since_us < slurm->poll_began_us)
        slurm_set_state (slurm, share, CARRIED_GONE);
    else if (!listed && share->state == CARRIED_GONE && share->generation)
        share->generation->due_us = 0; /* it may be judged now */
}

void slurm_table_take (struct slurm *slurm, const struct slurm_jobs *jobs)
{
    slurm->listed_us = slurm->poll_began_us;
    for (int i = 0; i < slurm->count; i++)
        take_listed (slurm, slurm->shares[i], jobs);
    slurm->way->listed (slurm->way_self, jobs);
}

static void poll_done (void *user, const struct command_result *result)
{
    struct slurm *slurm = user;
    struct slurm_jobs jobs;
    struct pollux_error err = result->why;
    int code = result->code;
    slurm->poll = 0;
    if (code == -EREMOTEIO && slurm_unknown_job (result->error))
        code = slurm->way->steps ? code : 0;
    if (code == 0)
        code = slurm->way->steps ? slurm_steps_parse (slurm->poll_key, result->output,
                                                      result->output_length, &jobs, &err)
                                 : slurm_jobs_parse (slurm->poll_key, result->output,
                                                     result->output_length, &jobs, &err);
    if (code < 0) {
        if (slurm->poll_failures++ == 0)
            slurm_log (slurm, LOG_WARNING, "Slurm does not answer: %s; asking again", err.text);
        slurm->poll_us = clock_monotonic_us () + POLL_BUSY_US;
        return;
    }
    if (slurm->poll_failures > 0)
        slurm_log (slurm, LOG_INFO, "Slurm answers again");
    slurm->poll_failures = 0;
    slurm_table_take (slurm, &jobs);
    slurm_jobs_clear (&jobs);
    int64_t due_us = slurm->poll_began_us + pause_us (slurm);
    if (due_us < slurm->poll_us)
        slurm->poll_us = due_us;
}

void slurm_table_poll (struct slurm *slurm)
{
    int64_t now_us = clock_monotonic_us ();
    struct slurm_jobs_query query = {.key = slurm->poll_key};
    struct words words = {0};
    char format[SLURM_FORMAT_SIZE];
    struct pollux_error err = {.text = ""};
    if (slurm->poll != 0 || now_us < slurm->poll_us)
        return;
    slurm->poll_us = now_us + POLL_QUIET_US;
    slurm->poll_began_us = now_us;
    int code = slurm_key_make (slurm->poll_key, &err);
    slurm->way->query (slurm->way_self, &query);
    if (code == 0)
        code = slurm->way->steps ? slurm_steps_words (&query, &words)
                                 : slurm_jobs_words (&query, &words);
    if (code == 0) {
        slurm_jobs_format (slurm->poll_key, format);
        struct command_request request = {.words = words_list (&words),
                                          .environment = (const char *const[]){format, NULL},
                                          .deadline_us = now_us + POLL_DEADLINE_US,
                                          .done = poll_done,
                                          .user = slurm};
        code = command_set_start (slurm->commands, &request, now_us, &slurm->poll, &err);
    }
    words_clear (&words);
    if (code < 0) {
        slurm->poll = 0;
        slurm->poll_us = now_us + POLL_BUSY_US;
        if (slurm->poll_failures++ == 0)
            slurm_log (slurm, LOG_ERR, "cannot ask Slurm: %s; trying again", err.text);
    }
}
