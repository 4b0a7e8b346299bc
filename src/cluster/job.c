/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one job alone: which replica counts it may have, its phase, and copies of placements.
 */
#include "cluster/job.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct hints hints_unknown = {
    .max_profiled_replicas = -1, .progress = NAN, .total = NAN, .step_s = NAN, .rate_factor = NAN};

const char *const job_phase_names[] = {"pending",  "running", "cancelling",
                                       "finished", "failed",  "cancelled"};
_Static_assert(sizeof (job_phase_names) / sizeof (job_phase_names[0]) == JOB_PHASES, "a name each");

/* The smallest allowed count >= least, where least >= 1; INT_MAX if there is none. */
static int allowed_from (const struct allowed *allowed, int least)
{
    int64_t from = INT_MAX;
    switch (allowed->kind) {
    case ALLOWED_ANY:
        return least;
    case ALLOWED_POW2:
        for (from = 1; from < least; from *= 2)
            ;
        break;
    case ALLOWED_MULTIPLE:
        from = ((int64_t)least + allowed->multiple - 1) / allowed->multiple * allowed->multiple;
        break;
    case ALLOWED_LIST:
        for (int i = allowed->count - 1; i >= 0 && allowed->list[i] >= least; i--)
            from = allowed->list[i];
        break;
    }
    return from < INT_MAX ? (int)from : INT_MAX;
}

/* The largest allowed count <= most, where most >= 0; 0 if there is none. */
static int allowed_upto (const struct allowed *allowed, int most)
{
    int upto = 0;
    switch (allowed->kind) {
    case ALLOWED_ANY:
        return most;
    case ALLOWED_POW2:
        for (upto = most; (upto & (upto - 1)) != 0; upto &= upto - 1)
            ; /* clear all bits but the highest */
        break;
    case ALLOWED_MULTIPLE:
        upto = most - most % allowed->multiple;
        break;
    case ALLOWED_LIST:
        for (int i = 0; i < allowed->count && allowed->list[i] <= most; i++)
            upto = allowed->list[i];
        break;
    }
    return upto;
}

bool job_allows (const struct job *job, int replicas)
{
    if (replicas == 0)
        return true;
    return replicas >= job->spec.min_replicas && replicas <= job->spec.max_replicas &&
           allowed_from (&job->spec.allowed, replicas) == replicas;
}

bool job_allows_type (const struct job *job, const char *type)
{
    const struct allowed_types *types = &job->spec.types;
    bool listed = false;
    for (int i = 0; i < types->count; i++)
        listed |= strcmp (types->list[i], type) == 0;
    return types->count == 0 || listed != types->except;
}

double job_type_speed (const struct job *job, const char *type)
{
    const struct type_speeds *speeds = &job->spec.speeds;
    for (int i = 0; i < speeds->count; i++)
        if (strcmp (speeds->list[i].type, type) == 0)
            return speeds->list[i].speed;
    return NAN;
}

double job_assumed_speed (const struct job *job, const char *type)
{
    const struct type_speeds *speeds = &job->spec.speeds;
    double stated = job_type_speed (job, type), logs = 0;
    if (!isnan (stated) || speeds->count == 0)
        return isnan (stated) ? 1 : stated;
    for (int i = 0; i < speeds->count; i++)
        logs += log (speeds->list[i].speed);
    return exp (logs / speeds->count);
}

int job_next_replicas (const struct job *job, int replicas)
{
    if (replicas >= job->spec.max_replicas)
        return 0;
    replicas = replicas > 0 ? replicas : 0;
    int least = replicas + 1 > job->spec.min_replicas ? replicas + 1 : job->spec.min_replicas;
    int next = allowed_from (&job->spec.allowed, least);
    return next <= job->spec.max_replicas ? next : 0;
}

int job_fit_replicas (const struct job *job, int replicas)
{
    if (replicas <= 0)
        return 0;
    int most = replicas < job->spec.max_replicas ? replicas : job->spec.max_replicas;
    int fit = allowed_upto (&job->spec.allowed, most);
    return fit >= job->spec.min_replicas ? fit : 0;
}

int job_request (const struct job *job)
{
    return job->spec.fixed_replicas > 0 ? job->spec.fixed_replicas : job_next_replicas (job, 0);
}

bool job_pinned (const struct job *job)
{
    return !job->spec.preemptible && job->placement.count > 0;
}

int job_trusted_replicas (const struct job *job)
{
    return job_trusted_with (job, job->hints.max_profiled_replicas);
}

int job_trusted_with (const struct job *job, int profiled_replicas)
{
    int64_t most = job->spec.max_replicas;
    if (profiled_replicas >= 0) {
        int64_t trusted = 2 * (int64_t)profiled_replicas;
        int fewest = job_next_replicas (job, 0);
        trusted = trusted < fewest ? fewest : trusted;
        most = most < trusted ? most : trusted;
    }
    return (int)most;
}

int job_most_replicas (const struct job *job)
{
    int64_t most = job_trusted_replicas (job);
    const struct pollux_limits *limits = &job->hints.limits;
    if (limits->init_batch > 0) {
        int64_t filled = limits->max_batch / limits->min_local;
        most = most < filled ? most : filled;
    }
    return (int)most;
}

bool job_live (const struct job *job)
{
    return job->phase == JOB_PENDING || job_runs (job);
}

bool job_runs (const struct job *job)
{
    return job->phase == JOB_RUNNING || job->phase == JOB_CANCELLING;
}

bool hints_are_evidence (const struct hints *hints)
{
    return hints->has_model && hints->max_profiled_replicas >= 1;
}

int hints_model_count (const struct hints *hints)
{
    return hints->has_model ? 1 + hints->other_count : 0;
}

struct type_model hints_model_at (const struct hints *hints, int i)
{
    if (i > 0)
        return hints->others[i - 1];
    struct type_model model = {.model = hints->model,
                               .max_local = hints->limits.max_local,
                               .max_profiled_replicas = hints->max_profiled_replicas};
    memcpy (model.type, hints->type, NAME_SIZE);
    return model;
}

int hints_type_index (const struct hints *hints, const char *type)
{
    for (int i = 0; i < hints_model_count (hints); i++)
        if (strcmp (i > 0 ? hints->others[i - 1].type : hints->type, type) == 0)
            return i;
    return -1;
}

int hints_noise_point (const struct hints *hints)
{
    double share = hints->progress / hints->total;
    if (!(share > 0)) /* or NaN */
        return 0;
    return share < 1 ? (int)(share * NOISE_POINTS) : NOISE_POINTS - 1;
}

double job_remaining (const struct job *job)
{
    double remaining = job->hints.total - job->hints.progress;
    return remaining < 0 ? 0 : remaining; /* NaN stays NaN */
}

/* Copy a placement into memory that is enlarged if needed. */
static int copy_shares (struct share **shares, int *capacity, struct placement from,
                        struct placement *ret)
{
    if (from.count > *capacity) {
        struct share *grown = realloc (*shares, (size_t)from.count * sizeof (grown[0]));
        if (!grown)
            return -ENOMEM;
        *shares = grown;
        *capacity = from.count;
    }
    if (from.count > 0)
        memmove (*shares, from.shares, (size_t)from.count * sizeof (from.shares[0]));
    *ret = (struct placement){.shares = *shares, .count = from.count};
    return 0;
}

int job_place (struct job *job, struct placement placement)
{
    return copy_shares (&job->shares, &job->share_capacity, placement, &job->placement);
}

int job_desire (struct job *job, struct placement placement)
{
    return copy_shares (&job->desired_shares, &job->desired_capacity, placement, &job->desired);
}

void job_clear (struct job *job)
{
    free (job->shares);
    free (job->desired_shares);
    free (job->oracle.iter_s);
    launch_free (job->launch);
    job->shares = job->desired_shares = NULL;
    job->oracle.iter_s = NULL;
    job->launch = NULL;
    job->placement = job->desired = (struct placement){0};
    job->share_capacity = job->desired_capacity = job->oracle.count = 0;
}
