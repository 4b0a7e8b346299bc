/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One report per job, found by the job's index: a new report overwrites the one before.
 *
 *     jobs     [0: 2] [1: -] [2: 1] ...          by index of the job
 *     reports  |of job 2|of job 0|               since the last full round
 */
#include "loop/report_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

void report_set_clear (struct report_set *reports)
{
    for (int i = 0; i < reports->job_capacity; i++)
        free (reports->jobs[i].refusal);
    free (reports->jobs);
    free (reports->reports);
    *reports = (struct report_set){0};
}

/* Grow jobs to contain the index.  Only existing jobs report, which bounds the size. */
static int reserve_job (struct report_set *reports, int job)
{
    struct reported *jobs =
        array_reserve_zeroed (reports->jobs, job, &reports->job_capacity, sizeof (jobs[0]));
    if (!jobs)
        return -ENOMEM;
    reports->jobs = jobs;
    return 0;
}

static int reserve_report (struct report_set *reports)
{
    struct report *grown =
        array_grow (reports->reports, reports->count, &reports->capacity, sizeof (grown[0]));
    if (!grown)
        return -ENOMEM;
    reports->reports = grown;
    return 0;
}

int report_set_check (const struct cluster *cluster, int job, int generation,
                      struct pollux_error *err)
{
    const struct job *reporter = cluster->jobs[job];
    if (job_runs (reporter) && generation == reporter->generation)
        return 0;
    return fail (err, -ESTALE,
                 job_runs (reporter) ? "job %s: generation %d has ended; generation %d runs now"
                                     : "job %s: generation %d has ended; the last one was %d",
                 reporter->spec.name, generation, reporter->generation);
}

int report_set_take (struct report_set *reports, const struct cluster *cluster,
                     const struct report *report, int generation, struct pollux_error *err)
{
    const struct job *job = cluster->jobs[report->job];
    int rc = report_set_check (cluster, report->job, generation, err);
    if (rc < 0) {
        reports->stale++;
        return rc;
    }
    if (reserve_job (reports, report->job) < 0 || reserve_report (reports) < 0)
        return fail (err, -ENOMEM, "job %s: not enough memory for its report", job->spec.name);
    struct reported *known = &reports->jobs[report->job];
    if (!known->place)
        known->place = ++reports->count;
    reports->reports[known->place - 1] = *report;
    free (known->refusal);
    known->refusal = NULL;
    reports->taken++;
    return 0;
}

void report_set_refuse (struct report_set *reports, int job, const char *why)
{
    reports->refused++;
    char *copy = reserve_job (reports, job) == 0 ? strdup (why) : NULL;
    if (!copy)
        return;
    free (reports->jobs[job].refusal);
    reports->jobs[job].refusal = copy;
}

const struct report *report_set_latest (const struct report_set *reports, int job)
{
    int place = job >= 0 && job < reports->job_capacity ? reports->jobs[job].place : 0;
    return place ? &reports->reports[place - 1] : NULL;
}

const char *report_set_refusal (const struct report_set *reports, int job)
{
    return job >= 0 && job < reports->job_capacity ? reports->jobs[job].refusal : NULL;
}

const char *report_set_strange_type (struct report_set *reports, const struct cluster *cluster,
                                     int job)
{
    const struct report *report = report_set_latest (reports, job);
    if (!report || !report->hints.type[0] || reports->jobs[job].told_type ||
        cluster_has_type (cluster, report->hints.type))
        return NULL;
    reports->jobs[job].told_type = true;
    return report->hints.type;
}

static int compare_jobs (const void *a, const void *b)
{
    int job_a = ((const struct report *)a)->job, job_b = ((const struct report *)b)->job;
    return (job_a > job_b) - (job_a < job_b);
}

int report_set_collect (struct report_set *reports, const struct cluster *cluster,
                        const struct report **ret)
{
    int kept = 0;
    for (int i = 0; i < reports->count; i++) {
        struct report *report = &reports->reports[i];
        if (job_live (cluster->jobs[report->job]))
            reports->reports[kept++] = *report;
        else
            reports->jobs[report->job].place = 0;
    }
    reports->count = kept;
    if (kept > 1)
        qsort (reports->reports, (size_t)kept, sizeof (reports->reports[0]), compare_jobs);
    for (int i = 0; i < kept; i++)
        reports->jobs[reports->reports[i].job].place = i + 1;
    *ret = reports->reports;
    return kept;
}

void report_set_drop (struct report_set *reports)
{
    for (int i = 0; i < reports->count; i++)
        reports->jobs[reports->reports[i].job].place = 0;
    reports->count = 0;
}

void report_set_drop_job (struct report_set *reports, int job)
{
    if (!report_set_latest (reports, job))
        return;
    int place = reports->jobs[job].place;
    struct report last = reports->reports[--reports->count];
    reports->reports[place - 1] = last;
    reports->jobs[last.job].place = place;
    reports->jobs[job].place = 0;
}
