/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes as the JSON document that a report embeds (docs/formats.md).  It is kept small, because
 * a report is one file: jobs are columns, times of jobs have a tenth of a second, the usage has at
 * most USAGE_POINTS points, and a job at most CHANGES_LIMIT changes.  960 jobs take about 100 kB
 * per outcome.
 */
#define _GNU_SOURCE /* mempcpy */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/describe.h"
#include "recorded/outcome.h"

/* One per pixel of a chart, and the changes of a job that one can tell apart in a row of the timeline.
 */
enum { USAGE_POINTS = 600, CHANGES_LIMIT = 400 };

/* With a tenth of a second. */
static json_t *tenths (double seconds)
{
    double value = round (seconds * 10) / 10;
    if (!isfinite (value))
        return json_null ();
    return value == floor (value) ? json_integer ((json_int_t)value) : json_real (value);
}

static json_t *text_or_null (const char *text)
{
    return text && *text ? json_string (text) : json_null ();
}

static double seconds (int64_t us)
{
    return (double)us * 1e-6;
}

/* ---- Numbers ------------------------------------------------------------------------------ */

static json_t *numbers_json (const struct outcome_numbers *numbers)
{
    return json_pack (
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i}", /**/
        "mean_jct", describe_number (numbers->mean_jct_s), "median_jct",
        describe_number (numbers->median_jct_s), /**/
        "p99_jct", describe_number (numbers->p99_jct_s), "makespan",
        describe_number (numbers->makespan_s),                               /**/
        "slot_hours_per_job", describe_number (numbers->slot_hours_per_job), /**/
        "restarts_per_job", describe_number (numbers->restarts_per_job),     /**/
        "utilisation", describe_number (numbers->utilisation), "worst_rho",
        describe_number (numbers->worst_rho), /**/
        "unfair", describe_number (numbers->unfair), "jobs", numbers->jobs, "finished",
        numbers->finished,                                                                 /**/
        "failed", numbers->failed, "cancelled", numbers->cancelled, "live", numbers->live, /**/
        "rounds", numbers->rounds);
}

/* ---- Jobs --------------------------------------------------------------------------------- */

/* Jobs with so many changes that not all of them are in the document. */
static int count_thinned (const struct outcome *outcome)
{
    int count = 0;
    for (int i = 0; i < outcome->job_count; i++)
        count += outcome->jobs[i].change_count >= CHANGES_LIMIT;
    return count;
}

/* [seconds since the submission, replicas, ...].  Of CHANGES_LIMIT changes and more, every n-th is
 * left: a picture of the whole. */
static json_t *changes_json (const struct outcome_job *job)
{
    json_t *list = json_array ();
    int stride = job->change_count / CHANGES_LIMIT + 1;
    for (int i = 0; list && i < job->change_count; i++) {
        bool last = i == job->change_count - 1;
        if (i % stride != 0 && !last)
            continue;
        if (json_array_append_new (list,
                                   tenths (seconds (job->changes[i].at_us - job->submit_us))) ||
            json_array_append_new (list, json_integer (job->changes[i].replicas))) {
            json_decref (list);
            return NULL;
        }
    }
    return list;
}

/* A column of the jobs: of one value of each. */
static json_t *column (const struct outcome *outcome,
                       json_t *(*value) (const struct outcome_job *job))
{
    json_t *list = json_array ();
    for (int i = 0; list && i < outcome->job_count; i++)
        if (json_array_append_new (list, value (&outcome->jobs[i]))) {
            json_decref (list);
            return NULL;
        }
    return list;
}

static json_t *name_of (const struct outcome_job *job)
{
    return json_string (job->name);
}

static json_t *application_of (const struct outcome_job *job)
{
    return text_or_null (job->application);
}

/* submit_of and end_of are for outcomes with events. */
static json_t *submit_of (const struct outcome_job *job)
{
    return tenths (seconds (job->submit_us));
}

static json_t *end_of (const struct outcome_job *job)
{
    return job->phase >= JOB_FINISHED ? tenths (seconds (job->end_us)) : json_null ();
}

static json_t *jct_of (const struct outcome_job *job)
{
    return tenths (job->jct_s);
}

static json_t *phase_of (const struct outcome_job *job)
{
    return json_integer (job->phase);
}

static json_t *rho_of (const struct outcome_job *job)
{
    return describe_number (round (job->rho * 1e4) / 1e4);
}

static json_t *restarts_of (const struct outcome_job *job)
{
    return json_integer (job->restarts);
}

static json_t *jobs_json (const struct outcome *outcome)
{
    json_t *jobs =
        json_pack ("{s:o, s:o, s:o}", "name", column (outcome, name_of), "jct",
                   column (outcome, jct_of), "rho",
                   isfinite (outcome->numbers.worst_rho) && outcome->recording.rho_count > 0
                       ? column (outcome, rho_of)
                       : json_null ());
    json_t *more =
        outcome->has_events
            ? json_pack ("{s:o, s:o, s:o, s:o, s:o, s:o}", "application",
                         column (outcome, application_of), "submit", column (outcome, submit_of),
                         "end", column (outcome, end_of), "phase", column (outcome, phase_of),
                         "restarts", column (outcome, restarts_of), "changes",
                         column (outcome, changes_json))
            : json_object ();
    bool failed = !jobs || !more || json_object_update (jobs, more);
    json_decref (more);
    if (failed) {
        json_decref (jobs);
        return NULL;
    }
    return jobs;
}

/* ---- Usage -------------------------------------------------------------------------------- */

/* Sums of value x seconds over one part of the time. */
struct usage_sum {
    double slots, used, running, waiting;
};

static void add_part (struct usage_sum *sum, const struct usage_change *usage, double seconds_long)
{
    sum->slots += usage->slots * seconds_long;
    sum->used += usage->used * seconds_long;
    sum->running += usage->running * seconds_long;
    sum->waiting += usage->waiting * seconds_long;
}

/* Add a change, which holds from begin to end, to all parts that it touches.  Parts are step_us long.
 */
static void add_change (struct usage_sum *sums, const struct usage_change *usage, double begin_us,
                        double end_us, double step_us)
{
    int part = (int)fmin (floor (begin_us / step_us), USAGE_POINTS - 1);
    for (; begin_us < end_us; part++) {
        bool last = part == USAGE_POINTS - 1;
        double until_us = last ? end_us : fmin ((part + 1) * step_us, end_us);
        if (until_us > begin_us) {
            add_part (&sums[part], usage, (until_us - begin_us) * 1e-6);
            begin_us = until_us;
        }
    }
}

static json_t *rounded (double value)
{
    double hundredths = round (value * 100) / 100;
    return hundredths == floor (hundredths) ? json_integer ((json_int_t)hundredths)
                                            : json_real (hundredths);
}

/* Means over USAGE_POINTS equal parts of the time. */
static json_t *usage_json (const struct outcome *outcome)
{
    double span_us = (double)(outcome->until_us - outcome->from_us),
           step_us = span_us / USAGE_POINTS;
    if (!outcome->has_events || outcome->usage_count == 0 || !(span_us > 0))
        return json_null ();
    struct usage_sum *sums = calloc (USAGE_POINTS, sizeof (sums[0]));
    json_t *slots = json_array (), *used = json_array (), *running = json_array (),
           *waiting = json_array ();
    bool failed = !sums;
    for (int i = 0; !failed && i < outcome->usage_count; i++) {
        const struct usage_change *usage = &outcome->usage[i];
        int64_t end_us = i + 1 < outcome->usage_count ? usage[1].at_us : outcome->until_us;
        add_change (sums, usage, (double)(usage->at_us - outcome->from_us),
                    (double)(end_us - outcome->from_us), step_us);
    }
    for (int i = 0; !failed && i < USAGE_POINTS; i++) {
        double step_s = step_us * 1e-6;
        failed = json_array_append_new (slots, rounded (sums[i].slots / step_s)) ||
                 json_array_append_new (used, rounded (sums[i].used / step_s)) ||
                 json_array_append_new (running, rounded (sums[i].running / step_s)) ||
                 json_array_append_new (waiting, rounded (sums[i].waiting / step_s));
    }
    free (sums);
    json_t *usage = json_pack ("{s:f, s:f, s:o, s:o, s:o, s:o}", "from", seconds (outcome->from_us),
                               "step", step_us * 1e-6, "slots", slots, "used", used, "running",
                               running, "waiting", waiting);
    if (failed) {
        json_decref (usage);
        return NULL;
    }
    return usage;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static json_t *outcome_json (const struct outcome *outcome)
{
    const struct recording *recording = &outcome->recording;
    return json_pack (
        "{s:s, s:o, s:b, s:o, s:o, s:o, s:b, s:b, s:i, s:o, s:o, s:o, s:o, s:o}", "source",
        outcome->source, "policy", text_or_null (outcome->policy), "several_policies",
        (int)outcome->several_policies, "workload", text_or_null (recording->workload), "command",
        text_or_null (recording->command), "made_at", describe_number (recording->made_s),
        "has_events", (int)outcome->has_events, "compacted", (int)outcome->compacted, "thinned",
        count_thinned (outcome), "from",
        outcome->has_events ? json_real (seconds (outcome->from_us)) : json_null (), "until",
        outcome->has_events ? json_real (seconds (outcome->until_us)) : json_null (), "numbers",
        numbers_json (&outcome->numbers), "jobs", jobs_json (outcome), "usage",
        usage_json (outcome));
}

json_t *outcomes_json (const struct outcome *outcomes, int count, const char *command,
                       double made_s)
{
    json_t *list = json_array ();
    for (int i = 0; list && i < count; i++)
        if (json_array_append_new (list, outcome_json (&outcomes[i]))) {
            json_decref (list);
            list = NULL;
        }
    return json_pack ("{s:i, s:s, s:o, s:o, s:o}", "version", 1, "software", POLLUX_VERSION,
                      "command", text_or_null (command), "made_at", describe_number (made_s),
                      "outcomes", list);
}

static char *escape (const char *json)
{
    static const char escaped[] = "\\u003c";
    size_t length = 0, step = sizeof (escaped) - 1;
    for (const char *at = json; *at; at++)
        length += *at == '<' ? step : 1;
    char *text = malloc (length + 1), *to = text;
    if (!text)
        return NULL;
    for (const char *at = json; *at; at++) {
        if (*at == '<')
            to = mempcpy (to, escaped, step);
        else
            *to++ = *at;
    }
    *to = '\0';
    return text;
}

char *outcomes_text (const struct outcome *outcomes, int count, const char *command, double made_s)
{
    json_t *data = outcomes_json (outcomes, count, command, made_s);
    char *json = data ? json_dumps (data, JSON_COMPACT | JSON_REAL_PRECISION (16)) : NULL;
    char *text = json ? escape (json) : NULL;
    json_decref (data);
    free (json);
    return text;
}
