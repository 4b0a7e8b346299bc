/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds events into the pasts of the cluster and of jobs.  Between two events nothing changes: an
 * event first ends the time before it, with the values of the present, and then changes those
 * values.  The counts of the cluster are changed event by event, so an event costs the same with
 * any number of jobs; only the reports of HINTS cost something for each running job.
 */
#include "loop/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "loop/job_values.h"

/* Units of a relative goodput, and the largest goodput: a job with more has wrong hints. */
static const double GOODPUT_UNITS = 1e6;
static const double GOODPUT_LIMIT = POLLUX_REPLICAS_LIMIT;

/* ---- Memory ------------------------------------------------------------------------------- */

/* The entry of a job; NULL: no memory. */
static struct history_job *entry_of (struct history *history, int job)
{
    struct history_job *jobs =
        array_reserve_zeroed (history->jobs, job, &history->job_capacity, sizeof (jobs[0]));
    if (!jobs)
        return NULL;
    history->jobs = jobs;
    return &jobs[job];
}

const struct job_past *history_job (const struct history *history, int job)
{
    return job >= 0 && job < history->job_capacity ? history->jobs[job].past : NULL;
}

static void drop_past (struct history *history, struct history_job *entry)
{
    if (!entry->past)
        return;
    job_past_clear (entry->past);
    free (entry->past);
    entry->past = NULL;
    history->past_count--;
}

/* Drop the past of the job that ended longest ago.  False: no job with a past has ended. */
static bool drop_oldest (struct history *history)
{
    if (history->ended_count == 0)
        return false;
    drop_past (history, &history->jobs[history->ended[history->ended_first]]);
    history->ended_first++;
    history->ended_count--;
    return true;
}

/* Of two jobs that ended at the same time, the one that was submitted earlier comes first: so the
 * order follows from the cluster, also after a restart. */
static void add_ended (struct history *history, const struct cluster *cluster, int job,
                       int64_t end_us)
{
    if (history->ended_first > history->ended_count) { /* move them to the beginning of the array */
        memmove (history->ended, history->ended + history->ended_first,
                 (size_t)history->ended_count * sizeof (history->ended[0]));
        history->ended_first = 0;
    }
    int used = history->ended_first + history->ended_count;
    int *ended = array_grow (history->ended, used, &history->ended_capacity, sizeof (ended[0]));
    if (!ended) { /* it could never be dropped later */
        drop_past (history, &history->jobs[job]);
        return;
    }
    history->ended = ended;
    int place = used;
    for (; place > history->ended_first; place--) {
        int before = ended[place - 1];
        int64_t before_us = cluster->jobs[before]->end_us;
        if (before_us < end_us || (before_us == end_us && before < job))
            break;
        ended[place] = before;
    }
    ended[place] = job;
    history->ended_count++;
}

/* ---- Jobs --------------------------------------------------------------------------------- */

static struct job_past *past_of (struct history *history, int job)
{
    struct history_job *entry = entry_of (history, job);
    return entry ? entry->past : NULL;
}

double history_goodput (const struct history *history)
{
    return (double)history->goodput / GOODPUT_UNITS;
}

static int64_t units_of (double goodput)
{
    return goodput > 0 ? llrint (fmin (goodput, GOODPUT_LIMIT) * GOODPUT_UNITS) : 0;
}

static void set_goodput (struct history *history, int job, double goodput)
{
    struct history_job *entry = entry_of (history, job);
    if (!entry)
        return;
    int64_t units = units_of (goodput);
    history->goodput += units - entry->goodput;
    entry->goodput = units;
    if (entry->past)
        entry->past->goodput = units;
}

/* Reports before this time are skipped, unless the batch changes. */
static void set_due (struct history *history, int job, int64_t next_report_us,
                     struct pollux_batch batch)
{
    struct history_job *entry = entry_of (history, job);
    if (!entry)
        return;
    entry->next_report_us = next_report_us;
    entry->batch = batch;
    if (entry->past)
        entry->past->next_report_us = next_report_us;
}

/* A job has another state from this time on.  Its next report is taken. */
static void change_job (struct history *history, const struct cluster *cluster, int job,
                        int64_t at_us, const struct job_state *state)
{
    float values[POINT_VALUES];
    struct job_rates rates = job_values_of (state, values);
    struct job_past *past = past_of (history, job);
    set_due (history, job, 0, state->batch);
    set_goodput (history, job,
                 job_relative_goodput (state, &rates, cluster->jobs[job], at_us, past));
    if (past)
        job_past_set (past, at_us, values);
}

static struct history_job *add_past (struct history *history, int job)
{
    struct history_job *entry = entry_of (history, job);
    if (!entry || (history->past_count >= HISTORY_JOBS_LIMIT && !drop_oldest (history)))
        return NULL;
    entry->past = calloc (1, sizeof (*entry->past));
    history->past_count += entry->past != NULL;
    return entry->past ? entry : NULL;
}

static void take_submit (struct history *history, const struct cluster *cluster,
                         const struct event *event)
{
    history->waiting++;
    struct history_job *entry = add_past (history, cluster->job_count);
    struct job_state state = {.hints = &event->submit.hints};
    float values[POINT_VALUES];
    job_values_of (&state, values);
    if (entry)
        job_past_begin (entry->past, event->at_us, values);
}

/* Keep what the job's last model predicts: the model itself is not kept. */
static void predict_steps (struct job_past *past, const struct cluster *cluster,
                           const struct hints *hints)
{
    for (int i = 0; i < past->measured_count; i++)
        past->measured[i].predicted_s = job_predicted_s (cluster, hints, &past->measured[i]);
}

static void end_job (struct history *history, const struct cluster *cluster, int job, int64_t at_us)
{
    struct job_past *past = past_of (history, job);
    if (!past)
        return;
    predict_steps (past, cluster, &cluster->jobs[job]->hints);
    job_past_shrink (past);
    add_ended (history, cluster, job, at_us);
}

static void take_cancel (struct history *history, const struct cluster *cluster,
                         const struct event *event)
{
    const struct job *job = cluster->jobs[event->job];
    if (job_runs (job))
        return; /* it ends with its EXIT */
    struct job_state state = job_state_of (job);
    history->waiting--;
    change_job (history, cluster, event->job, event->at_us, &state);
    end_job (history, cluster, event->job, event->at_us);
}

static void take_node (struct history *history, const struct cluster *cluster,
                       const struct event *event)
{
    int known = cluster_find_node (cluster, event->node.name);
    history->slots += event->node.slots - (known < 0 ? 0 : cluster->nodes[known].slots);
}

/* A node that is off has no slots; other states keep them. */
static void take_power (struct history *history, const struct cluster *cluster,
                        const struct event *event)
{
    int known = cluster_find_node (cluster, event->power.node);
    if (event->power.state == POWER_OFF && known >= 0)
        history->slots -= cluster->nodes[known].slots;
}

/* Whether a report that was taken after the last HINTS was measured in the present generation.  If
 * the job has started since then, the report may be older. */
static bool is_of_generation (const struct history *history, const struct job *job)
{
    return job_runs (job) && job->start_us <= history->past.hints_us;
}

void history_present (const struct history *history, const struct cluster *cluster, int job,
                      const struct hints *hints, struct pollux_batch batch, float ret[POINT_VALUES])
{
    const struct job_past *past = history_job (history, job);
    struct job_state state = job_state_of (cluster->jobs[job]);
    bool reported = hints != &cluster->jobs[job]->hints;
    state.hints = hints;
    state.batch = batch;
    state.measured = reported ? is_of_generation (history, cluster->jobs[job])
                              : past && !isnan (past->present[POINT_STEP_S]);
    job_values_of (&state, ret);
}

static void measure (struct history *history, const struct cluster *cluster, int job,
                     const struct report *report, int64_t at_us)
{
    const struct job *reporter = cluster->jobs[job];
    struct job_past *past = past_of (history, job);
    struct pollux_shape shape = placement_shape (reporter->placement);
    double step_s = report->hints.step_s;
    if (!past || !(step_s > 0) || report->batch.m <= 0)
        return;
    struct measured_step step = {.node = reporter->placement.shares[0].node,
                                 .nodes = shape.nodes,
                                 .replicas = shape.replicas,
                                 .m = report->batch.m,
                                 .at_us = at_us,
                                 .step_s = step_s,
                                 .predicted_s = NAN};
    job_past_measure (past, cluster->nodes, &step);
}

static bool is_due (struct history *history, const struct report *report, int64_t at_us)
{
    const struct history_job *entry = entry_of (history, report->job);
    return !entry || at_us >= entry->next_report_us || entry->batch.m != report->batch.m ||
           entry->batch.s != report->batch.s;
}

/* Reports that are taken per second at most, of all jobs together: the cost does not grow with the
 * number of jobs. */
enum { REPORTS_PER_S = 8 };

/* When the next report is taken: when the time since its start has doubled, but not more than a
 * 16th of the job's age later; and in a large cluster later. */
static int64_t find_next_report_us (const struct history *history, const struct job *job,
                                    int64_t at_us)
{
    int64_t since_start_us = at_us - job->start_us, part_us = (at_us - job->submit_us) / 16;
    int64_t gap_us = since_start_us < part_us ? since_start_us : part_us;
    int64_t least_us = (int64_t)history->running * 1000000 / REPORTS_PER_S;
    return at_us + (gap_us > least_us ? gap_us : least_us);
}

static void take_report (struct history *history, const struct cluster *cluster,
                         const struct report *report, int64_t at_us)
{
    const struct job *job = cluster->jobs[report->job];
    struct job_state state = job_state_of (job);
    state.hints = &report->hints;
    state.batch = report->batch;
    state.measured = is_of_generation (history, job);
    change_job (history, cluster, report->job, at_us, &state); /* the next one is due */
    if (!state.measured)
        return;
    set_due (history, report->job, find_next_report_us (history, job, at_us), report->batch);
    measure (history, cluster, report->job, report, at_us);
}

static void take_hints (struct history *history, const struct cluster *cluster,
                        const struct event *event)
{
    for (int i = 0; i < event->hints.count; i++) {
        const struct report *report = &event->hints.reports[i];
        if (is_due (history, report, event->at_us))
            take_report (history, cluster, report, event->at_us);
    }
    history->past.hints_us = event->at_us;
}

static void take_plan (struct history *history, const struct cluster *cluster,
                       const struct event *event)
{
    bool fits = event->plan->job_count == cluster->active.count; /* else it will be refused */
    if (fits && !isnan (event->plan->price))
        history->past.price = event->plan->price;
}

static void take_start (struct history *history, const struct cluster *cluster,
                        const struct event *event)
{
    const struct job *job = cluster->jobs[event->job];
    struct job_state state = job_state_of (job);
    struct job_past *past = past_of (history, event->job);
    history->waiting -= !job_runs (job);
    history->running += !job_runs (job);
    history->used -= state.shape.replicas;
    state.shape = placement_shape (event->start.placement);
    history->used += state.shape.replicas;
    change_job (history, cluster, event->job, event->at_us, &state);
    if (!past)
        return;
    job_past_start (past, event->start.generation, event->at_us, event->start.placement);
    past->next_search_us = 0; /* its model may be another one on these nodes */
}

static void take_started (struct history *history, const struct cluster *cluster,
                          const struct event *event)
{
    (void)cluster;
    struct job_past *past = past_of (history, event->job);
    if (past)
        job_past_ready (past, event->at_us);
}

static void take_exit (struct history *history, const struct cluster *cluster,
                       const struct event *event)
{
    const struct job *job = cluster->jobs[event->job];
    struct job_state state = job_state_of (job);
    struct job_past *past = past_of (history, event->job);
    enum exit_kind kind = event->exit.kind;
    bool ends = kind == EXITED_FINISHED || kind == EXITED_GAVE_UP || job->phase == JOB_CANCELLING;
    history->running--;
    history->waiting += !ends;
    history->used -= state.shape.replicas;
    state.shape = (struct pollux_shape){0};
    change_job (history, cluster, event->job, event->at_us, &state);
    if (past)
        job_past_exit (past, event->at_us, (int)kind, event->exit.detail);
    if (ends)
        end_job (history, cluster, event->job, event->at_us);
}

/* ---- The cluster -------------------------------------------------------------------------- */

/* The present of this history has lasted until this time: add it to a past, which is its own or a copy. */
static int add_present (const struct history *history, int64_t at_us, struct cluster_past *past)
{
    int64_t from_us = past->until_us;
    const double values[SERIES_VALUES] = {
        [SERIES_SLOTS] = history->slots,
        [SERIES_USED] = history->used,
        [SERIES_RUNNING] = history->running,
        [SERIES_WAITING] = history->waiting,
        [SERIES_GOODPUT] = history_goodput (history),
        [SERIES_PRICE] = past->price,
    };
    past->until_us = at_us > from_us ? at_us : from_us;
    if (from_us < 0 || at_us <= from_us)
        return 0;
    int minutes = series_add (&past->minutes, from_us, at_us, values);
    int hours = series_add (&past->hours, from_us, at_us, values);
    return minutes < 0 ? minutes : hours;
}

int history_until (const struct history *history, int64_t now_us, struct cluster_past *ret)
{
    struct cluster_past past;
    int rc = cluster_past_copy (&history->past, &past);
    if (rc == 0)
        rc = add_present (history, now_us, &past);
    if (rc == 0)
        *ret = past;
    else
        cluster_past_clear (&past);
    return rc;
}

void history_take (struct history *history, const struct cluster *cluster,
                   const struct event *event)
{
    static void (*const take[EVENT_TYPES]) (struct history *, const struct cluster *,
                                            const struct event *) = {
        [EVENT_SUBMIT] = take_submit,   [EVENT_CANCEL] = take_cancel, [EVENT_NODE] = take_node,
        [EVENT_HINTS] = take_hints,     [EVENT_PLAN] = take_plan,     [EVENT_START] = take_start,
        [EVENT_STARTED] = take_started, [EVENT_EXIT] = take_exit,     [EVENT_POWER] = take_power,
    };
    add_present (history, event->at_us, &history->past);
    if (take[event->type])
        take[event->type](history, cluster, event);
}

static void count_job (struct history *history, const struct cluster *cluster, int index)
{
    const struct job *job = cluster->jobs[index];
    struct job_state state = job_state_of (job);
    float values[POINT_VALUES];
    if (!job_live (job))
        return;
    struct job_rates rates = job_values_of (&state, values);
    history->running += job_runs (job);
    history->waiting += !job_runs (job);
    history->used += state.shape.replicas;
    set_goodput (history, index, job_relative_goodput (&state, &rates, job, cluster->now_us, NULL));
    set_due (history, index, 0, job->batch);
}

void history_begin_job (struct history *history, const struct cluster *cluster, int index)
{
    const struct job *job = cluster->jobs[index];
    struct job_state state = job_state_of (job);
    float values[POINT_VALUES];
    bool room = history->past_count < HISTORY_JOBS_LIMIT; /* none is dropped for it */
    struct history_job *entry =
        job_live (job) && room && !history_job (history, index) ? add_past (history, index) : NULL;
    if (!entry)
        return;
    job_values_of (&state, values);
    job_past_begin (entry->past, cluster->now_us, values);
    entry->past->goodput = entry->goodput;
    if (job_runs (job))
        job_past_start (entry->past, job->generation, job->start_us, job->placement);
}

void history_begin (struct history *history, const struct cluster *cluster)
{
    history_begin_without_jobs (history, cluster);
    for (int i = 0; i < cluster->job_count; i++)
        history_begin_job (history, cluster, i);
}

void history_begin_without_jobs (struct history *history, const struct cluster *cluster)
{
    *history = (struct history){.past = cluster_past_make ()};
    for (int i = 0; i < cluster->node_count; i++)
        history->slots += cluster->nodes[i].slots;
    for (int i = 0; i < cluster->job_count; i++)
        count_job (history, cluster, i);
    if (cluster->node_count > 0 || cluster->job_count > 0)
        history->past.until_us = cluster->now_us;
}

void history_clear (struct history *history)
{
    for (int i = 0; i < history->job_capacity; i++)
        drop_past (history, &history->jobs[i]);
    free (history->jobs);
    free (history->ended);
    cluster_past_clear (&history->past);
    *history = (struct history){.past = cluster_past_make ()};
}

/* ---- Restoring ---------------------------------------------------------------------------- */

/* Whether nodes of a past are nodes of the cluster, and its times are before the present. */
static bool past_fits (const struct cluster *cluster, const struct job *job,
                       const struct job_past *past)
{
    int64_t most = job_live (job) ? units_of (GOODPUT_LIMIT) : 0;
    bool fits = past->until_us <= cluster->now_us && past->goodput <= most;
    for (int i = 0; i < past->measured_count; i++)
        fits &= past->measured[i].node < cluster->node_count;
    for (int i = 0; i < past->generation_count; i++)
        for (int j = 0; j < past->generations[i].share_count; j++)
            fits &= past->generations[i].shares[j].node < cluster->node_count;
    return fits;
}

int history_restore_job (struct history *history, const struct cluster *cluster, int job,
                         struct job_past *past)
{
    if (job < 0 || job >= cluster->job_count || history_job (history, job) ||
        history->past_count >= HISTORY_JOBS_LIMIT || !past_fits (cluster, cluster->jobs[job], past))
        return -EINVAL;
    struct history_job *entry = add_past (history, job);
    if (!entry)
        return -ENOMEM;
    *entry->past = *past;
    *past = (struct job_past){0};
    entry->next_report_us = entry->past->next_report_us;
    entry->batch = cluster->jobs[job]->batch;
    history->goodput += entry->past->goodput - entry->goodput;
    entry->goodput = entry->past->goodput;
    if (!job_live (cluster->jobs[job]))
        add_ended (history, cluster, job, cluster->jobs[job]->end_us);
    return 0;
}

int history_restore_past (struct history *history, const struct cluster *cluster,
                          struct cluster_past *past)
{
    if (past->until_us > cluster->now_us)
        return -EINVAL;
    cluster_past_clear (&history->past);
    history->past = *past;
    *past = cluster_past_make ();
    return 0;
}
