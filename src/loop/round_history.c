/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ROUND begins a summary and its PLAN completes it.  Events come here before they are applied, new ones
 * and those of a journal that is read again, so a restarted daemon has the history too.
 */
#include "loop/round_history.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "loop/change_log.h"

static void begin (struct round_history *rounds, const struct event *event, int64_t seq)
{
    rounds->coming = (struct round_summary){.seq = seq,
                                            .at_us = event->at_us,
                                            .p = event->round.p,
                                            .settings = event->round.settings,
                                            .fill = event->round.fill,
                                            .fitness = NAN,
                                            .bound = NAN,
                                            .price = NAN,
                                            .decide_s = NAN};
    memcpy (rounds->coming.policy, event->round.policy, sizeof (rounds->coming.policy));
}

static void add (struct round_history *rounds, const struct round_summary *summary)
{
    rounds->ring[rounds->count++ % ROUND_HISTORY_LIMIT] = *summary;
    if (!summary->fill)
        rounds->last_full = rounds->count;
}

/* Write the line of a plan, cut to the size of a summary. */
static void write_changes (struct round_summary *summary, const struct cluster *cluster,
                           const struct plan *plan)
{
    char text[PLAN_CHANGES_SIZE];
    summary->changed = plan_changes_write (cluster, plan, text);
    size_t length = summary->changed > 0 ? strnlen (text, ROUND_TEXT_SIZE - 1) : 0;
    memcpy (summary->text, text, length);
    summary->text[utf8_valid (text, length)] = '\0';
}

static void complete (struct round_history *rounds, const struct cluster *cluster,
                      const struct plan *plan)
{
    struct round_summary *summary = &rounds->coming;
    if (plan->job_count != cluster->active.count)
        return; /* the PLAN does not fit and will be refused */
    summary->fitness = plan->fitness;
    summary->bound = plan->bound;
    summary->price = plan->price;
    summary->jobs = plan->job_count;
    for (int i = 0; i < plan->job_count; i++) {
        const struct job *job = cluster->active.jobs[i];
        struct placement placement = plan_placement (plan, i);
        summary->restarts += job_runs (job) && !placement_equal (job->placement, placement);
        summary->used_slots += placement_replicas (placement);
    }
    write_changes (summary, cluster, plan);
    add (rounds, summary);
}

void round_history_take (struct round_history *rounds, const struct cluster *cluster,
                         const struct event *event, int64_t seq)
{
    if (event->type == EVENT_ROUND)
        begin (rounds, event, seq);
    else if (event->type == EVENT_PLAN)
        complete (rounds, cluster, event->plan);
}

void round_history_decided (struct round_history *rounds, double seconds)
{
    rounds->coming.decide_s = seconds;
}

const struct round_summary *round_history_get (const struct round_history *rounds, int64_t age)
{
    if (age < 0 || age >= rounds->count || age >= ROUND_HISTORY_LIMIT)
        return NULL;
    return &rounds->ring[(rounds->count - 1 - age) % ROUND_HISTORY_LIMIT];
}

const struct round_summary *round_history_last_full (const struct round_history *rounds)
{
    return rounds->last_full ? round_history_get (rounds, rounds->count - rounds->last_full) : NULL;
}

int round_history_list (const struct round_history *rounds,
                        struct round_summary ret[ROUND_HISTORY_LIMIT])
{
    int count = rounds->count < ROUND_HISTORY_LIMIT ? (int)rounds->count : ROUND_HISTORY_LIMIT;
    for (int i = 0; i < count; i++)
        ret[i] = *round_history_get (rounds, count - 1 - i);
    return count;
}

void round_history_restore (struct round_history *rounds, const struct round_summary *summaries,
                            int count)
{
    *rounds = (struct round_history){0};
    for (int i = 0; i < count; i++)
        add (rounds, &summaries[i]);
}
