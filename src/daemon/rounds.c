/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ROUND begins a summary and its PLAN completes it.  Both pass here before they are applied,
 * live or read from the journal, so that a daemon that starts again knows its earlier rounds.
 */
#include "daemon/rounds.h"

#include <math.h>
#include <string.h>

static void begin (struct rounds *rounds, const struct event *event, int64_t seq)
{
    rounds->coming = (struct round_summary){.seq = seq,
                                            .at_us = event->at_us,
                                            .fill = event->round.fill,
                                            .fitness = NAN,
                                            .bound = NAN,
                                            .price = NAN,
                                            .decide_s = NAN};
    memcpy (rounds->coming.policy, event->round.policy, sizeof (rounds->coming.policy));
}

static void add (struct rounds *rounds, const struct round_summary *summary)
{
    rounds->ring[rounds->count++ % ROUNDS_LIMIT] = *summary;
    if (!summary->fill)
        rounds->last_full = rounds->count;
}

static void complete (struct rounds *rounds, const struct cluster *cluster, const struct plan *plan)
{
    struct round_summary *summary = &rounds->coming;
    if (plan->job_count != cluster->active.count)
        return; /* it will be refused */
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
    add (rounds, summary);
}

void rounds_take (struct rounds *rounds, const struct cluster *cluster, const struct event *event,
                  int64_t seq)
{
    if (event->type == EVENT_ROUND)
        begin (rounds, event, seq);
    else if (event->type == EVENT_PLAN)
        complete (rounds, cluster, event->plan);
}

void rounds_decided (struct rounds *rounds, double seconds)
{
    rounds->coming.decide_s = seconds;
}

const struct round_summary *rounds_get (const struct rounds *rounds, int64_t age)
{
    if (age < 0 || age >= rounds->count || age >= ROUNDS_LIMIT)
        return NULL;
    return &rounds->ring[(rounds->count - 1 - age) % ROUNDS_LIMIT];
}

const struct round_summary *rounds_last_full (const struct rounds *rounds)
{
    return rounds->last_full ? rounds_get (rounds, rounds->count - rounds->last_full) : NULL;
}

int rounds_list (const struct rounds *rounds, struct round_summary ret[ROUNDS_LIMIT])
{
    int count = rounds->count < ROUNDS_LIMIT ? (int)rounds->count : ROUNDS_LIMIT;
    for (int i = 0; i < count; i++)
        ret[i] = *rounds_get (rounds, count - 1 - i);
    return count;
}

void rounds_restore (struct rounds *rounds, const struct round_summary *summaries, int count)
{
    *rounds = (struct rounds){0};
    for (int i = 0; i < count; i++)
        add (rounds, &summaries[i]);
}
