/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds events into an outcome.  Each event changes one job, one node or nothing that a report
 * shows, so the work is proportional to the number of events.
 */
#include "recorded/outcome.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/statistics.h"

static int no_memory (struct pollux_error *err)
{
    return fail (err, -ENOMEM, "not enough memory for a report");
}

void outcome_clear (struct outcome *outcome)
{
    for (int i = 0; i < outcome->job_count; i++)
        free (outcome->jobs[i].changes);
    free (outcome->jobs);
    free (outcome->usage);
    recording_clear (&outcome->recording);
    cluster_clear (&outcome->cluster);
    *outcome = (struct outcome){0};
}

/* ---- Changes ------------------------------------------------------------------------------ */

/* Add a change; one at the same time replaces the one before. */
static int add_replicas (struct outcome_job *job, int64_t at_us, int replicas,
                         struct pollux_error *err)
{
    struct replica_change *last =
        job->change_count > 0 ? &job->changes[job->change_count - 1] : NULL;
    if ((last ? last->replicas : 0) == replicas)
        return 0;
    if (last && last->at_us == at_us) {
        last->replicas = replicas;
        /* Stopped and started at the same moment with the same number: no change is left. */
        if (replicas == (job->change_count > 1 ? last[-1].replicas : 0))
            job->change_count--;
        return 0;
    }
    struct replica_change change = {at_us, replicas};
    int code = array_append (&job->changes, &job->change_count, &job->change_capacity, &change,
                             sizeof (change));
    return code < 0 ? no_memory (err) : 0;
}

static int add_usage (struct outcome *outcome, int64_t at_us, struct pollux_error *err)
{
    outcome->now.at_us = at_us;
    if (outcome->usage_count > 0 && outcome->usage[outcome->usage_count - 1].at_us == at_us) {
        outcome->usage[outcome->usage_count - 1] = outcome->now;
        return 0;
    }
    int code = array_append (&outcome->usage, &outcome->usage_count, &outcome->usage_capacity,
                             &outcome->now, sizeof (outcome->now));
    return code < 0 ? no_memory (err) : 0;
}

/* Add what a job counts for in the usage, or take it away (sign -1). */
static void count_job (struct usage_change *now, const struct job *job, int sign)
{
    now->used += sign * placement_replicas (job->placement);
    now->running += sign * job_runs (job);
    now->waiting += sign * (job->phase == JOB_PENDING);
}

static int node_slots (const struct cluster *cluster, int index)
{
    return index >= 0 ? cluster->nodes[index].slots : 0;
}

/* A new job of the cluster. */
static int add_job (struct outcome *outcome, struct pollux_error *err)
{
    const struct job *job = outcome->cluster.jobs[outcome->job_count];
    struct outcome_job added = {.submit_us = job->submit_us, .jct_s = NAN, .rho = NAN};
    memcpy (added.name, job->spec.name, sizeof (added.name));
    memcpy (added.application, job->spec.application, sizeof (added.application));
    int code = array_append (&outcome->jobs, &outcome->job_count, &outcome->job_capacity, &added,
                             sizeof (added));
    return code < 0 ? no_memory (err) : 0;
}

/* ---- Events ------------------------------------------------------------------------------- */

int outcome_start (struct outcome *outcome, const char *source, struct pollux_error *err)
{
    const struct cluster *cluster = &outcome->cluster;
    const char *slash = strrchr (source, '/');
    snprintf (outcome->source, sizeof (outcome->source), "%s", slash ? slash + 1 : source);
    outcome->recording.made_s = NAN;
    outcome->has_events = true;
    outcome->compacted = outcome->begun = cluster->now_us > 0 || cluster->node_count > 0;
    outcome->from_us = outcome->until_us = cluster->now_us;
    for (int i = 0; i < cluster->node_count; i++)
        outcome->now.slots += node_slots (cluster, i);
    for (int i = 0; i < cluster->job_count; i++) {
        const struct job *job = cluster->jobs[i];
        int code = add_job (outcome, err);
        if (code == 0)
            code = add_replicas (&outcome->jobs[i], cluster->now_us,
                                 placement_replicas (job->placement), err);
        if (code < 0)
            return code;
        count_job (&outcome->now, job, 1);
    }
    return outcome->compacted ? add_usage (outcome, cluster->now_us, err) : 0;
}

static int take_job (struct outcome *outcome, const struct event *event, struct pollux_error *err)
{
    struct cluster *cluster = &outcome->cluster;
    bool is_new = event->type == EVENT_SUBMIT;
    if (!is_new)
        count_job (&outcome->now, cluster->jobs[event->job], -1);
    int code = cluster_apply_checked (cluster, event, err);
    if (code == 0 && is_new)
        code = add_job (outcome, err);
    if (code < 0)
        return code;
    const struct job *job = cluster->jobs[event->job];
    count_job (&outcome->now, job, 1);
    code = add_replicas (&outcome->jobs[event->job], event->at_us,
                         placement_replicas (job->placement), err);
    return code < 0 ? code : add_usage (outcome, event->at_us, err);
}

/* NODE or POWER: the slots of one node may change. */
static int take_node (struct outcome *outcome, const struct event *event, const char *name,
                      struct pollux_error *err)
{
    struct cluster *cluster = &outcome->cluster;
    outcome->now.slots -= node_slots (cluster, cluster_find_node (cluster, name));
    int code = cluster_apply_checked (cluster, event, err);
    outcome->now.slots += node_slots (cluster, cluster_find_node (cluster, name));
    return code < 0 ? code : add_usage (outcome, event->at_us, err);
}

static void note_round (struct outcome *outcome, const struct round *round)
{
    outcome->rounds++;
    if (round->fill)
        return;
    if (outcome->policy[0] && strcmp (outcome->policy, round->policy) != 0)
        outcome->several_policies = true;
    memcpy (outcome->policy, round->policy, sizeof (outcome->policy));
}

int outcome_take (struct outcome *outcome, const struct event *event, struct pollux_error *err)
{
    if (!outcome->begun)
        outcome->from_us = event->at_us;
    outcome->begun = true;
    outcome->until_us = event->at_us;
    switch (event->type) {
    case EVENT_SUBMIT:
    case EVENT_CANCEL:
    case EVENT_START:
    case EVENT_EXIT:
        return take_job (outcome, event, err);
    case EVENT_NODE:
        return take_node (outcome, event, event->node.name, err);
    case EVENT_POWER:
        return take_node (outcome, event, event->power.node, err);
    case EVENT_ROUND:
        note_round (outcome, &event->round);
        break;
    default:
        break;
    }
    return cluster_apply_checked (&outcome->cluster, event, err);
}

static int append (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    (void)cluster; /* the outcome has its own */
    return outcome_take (self, event, err);
}

struct journal outcome_journal (struct outcome *outcome)
{
    return (struct journal){.append = append, .self = outcome};
}

/* ---- Numbers ------------------------------------------------------------------------------ */

static double seconds (int64_t us)
{
    return (double)us * 1e-6;
}

/* Integrals of used slots and of all slots from a time to another, in slot-seconds. */
static void integrate (const struct outcome *outcome, int64_t from_us, int64_t to_us,
                       double *ret_used, double *ret_slots)
{
    double used = 0, slots = 0;
    for (int i = 0; i < outcome->usage_count; i++) {
        const struct usage_change *usage = &outcome->usage[i];
        int64_t begin = usage->at_us > from_us ? usage->at_us : from_us;
        int64_t end = i + 1 < outcome->usage_count ? usage[1].at_us : to_us;
        end = end < to_us ? end : to_us;
        if (end > begin) {
            used += usage->used * seconds (end - begin);
            slots += usage->slots * seconds (end - begin);
        }
    }
    *ret_used = used;
    *ret_slots = slots;
}

static int compare_rho (const void *a, const void *b)
{
    return strcmp (((const struct recorded_rho *)a)->job, ((const struct recorded_rho *)b)->job);
}

/* Copy rho from the recording to the jobs of the same name. */
static void take_rhos (struct outcome *outcome)
{
    struct recording *recording = &outcome->recording;
    if (recording->rho_count == 0)
        return;
    qsort (recording->rhos, (size_t)recording->rho_count, sizeof (recording->rhos[0]), compare_rho);
    for (int i = 0; i < outcome->job_count; i++) {
        struct recorded_rho key = {.rho = 0};
        memcpy (key.job, outcome->jobs[i].name, sizeof (key.job));
        const struct recorded_rho *found =
            bsearch (&key, recording->rhos, (size_t)recording->rho_count,
                     sizeof (recording->rhos[0]), compare_rho);
        if (found)
            outcome->jobs[i].rho = found->rho;
    }
}

static void end_jobs (struct outcome *outcome)
{
    for (int i = 0; i < outcome->job_count; i++) {
        const struct job *job = outcome->cluster.jobs[i];
        struct outcome_job *ended = &outcome->jobs[i];
        ended->phase = job->phase;
        ended->restarts = job->restarts;
        ended->failures = job->failures;
        if (!job_live (job))
            ended->end_us = job->end_us;
        if (job->phase == JOB_FINISHED)
            ended->jct_s = seconds (job->end_us - job->submit_us);
    }
}

static void count_phase (struct outcome_numbers *numbers, enum job_phase phase)
{
    numbers->jobs++;
    numbers->finished += phase == JOB_FINISHED;
    numbers->failed += phase == JOB_FAILED;
    numbers->cancelled += phase == JOB_CANCELLED;
    numbers->live += phase < JOB_FINISHED;
}

/* From the first submission, or the beginning of the events, to the last end, or the last event if
 * a job lives. */
static void sum_up_slots (struct outcome *outcome, struct outcome_numbers *numbers)
{
    int64_t first_us = INT64_MAX, last_us = 0;
    double used, slots;
    for (int i = 0; i < outcome->job_count; i++) {
        const struct outcome_job *job = &outcome->jobs[i];
        int64_t end_us = job->phase < JOB_FINISHED ? outcome->until_us : job->end_us;
        first_us = job->submit_us < first_us ? job->submit_us : first_us;
        last_us = end_us > last_us ? end_us : last_us;
    }
    if (outcome->job_count == 0)
        return;
    numbers->makespan_s = seconds (last_us - first_us);
    integrate (outcome, first_us > outcome->from_us ? first_us : outcome->from_us, last_us, &used,
               &slots);
    numbers->utilisation = slots > 0 ? used / slots : NAN;
    if (!outcome->compacted)
        numbers->slot_hours_per_job = used / outcome->job_count / 3600;
}

static int sum_up (struct outcome *outcome, struct pollux_error *err)
{
    struct outcome_numbers numbers = {.mean_jct_s = NAN,
                                      .median_jct_s = NAN,
                                      .p99_jct_s = NAN,
                                      .makespan_s = NAN,
                                      .slot_hours_per_job = NAN,
                                      .restarts_per_job = NAN,
                                      .utilisation = NAN,
                                      .worst_rho = NAN,
                                      .unfair = NAN,
                                      .rounds = outcome->rounds};
    double *jcts = malloc (((size_t)outcome->job_count + 1) * sizeof (jcts[0]));
    double jct_s = 0, restarts = 0;
    int unfair = 0, rhos = 0;
    if (!jcts)
        return no_memory (err);
    for (int i = 0; i < outcome->job_count; i++) {
        const struct outcome_job *job = &outcome->jobs[i];
        if (job->phase == JOB_FINISHED)
            jct_s += jcts[numbers.finished] = job->jct_s;
        count_phase (&numbers, job->phase);
        restarts += job->restarts;
        if (isfinite (job->rho)) {
            numbers.worst_rho = fmax (numbers.worst_rho, job->rho);
            unfair += job->rho > 1;
            rhos++;
        }
    }
    if (numbers.finished > 0)
        numbers.mean_jct_s = jct_s / numbers.finished;
    numbers.median_jct_s = quantile (jcts, numbers.finished, 0.5);
    numbers.p99_jct_s = quantile (jcts, numbers.finished, 0.99);
    if (numbers.jobs > 0)
        numbers.restarts_per_job = restarts / numbers.jobs;
    if (rhos > 0)
        numbers.unfair = (double)unfair / rhos;
    free (jcts);
    sum_up_slots (outcome, &numbers);
    outcome->numbers = numbers;
    return 0;
}

int outcome_finish (struct outcome *outcome, struct recording *recording, struct pollux_error *err)
{
    recording_clear (&outcome->recording);
    outcome->recording = *recording;
    *recording = (struct recording){.made_s = NAN};
    end_jobs (outcome);
    take_rhos (outcome);
    cluster_clear (&outcome->cluster);
    outcome->cluster = (struct cluster){0};
    return sum_up (outcome, err);
}
