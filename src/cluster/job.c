/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said of one job without knowing any other.
 */
#include "cluster/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool allowed_has (const struct allowed *allowed, int replicas)
{
    switch (allowed->kind) {
    case ALLOWED_ANY:
        return true;
    case ALLOWED_POW2:
        return (replicas & (replicas - 1)) == 0;
    case ALLOWED_MULTIPLE:
        return replicas % allowed->multiple == 0;
    case ALLOWED_LIST:
        for (int i = 0; i < allowed->count; i++)
            if (allowed->list[i] == replicas)
                return true;
        return false;
    }
    return false;
}

bool job_allows (const struct job *job, int replicas)
{
    if (replicas == 0)
        return true;
    return replicas >= job->spec.min_replicas && replicas <= job->spec.max_replicas &&
           allowed_has (&job->spec.allowed, replicas);
}

int job_next_replicas (const struct job *job, int replicas)
{
    int next = replicas + 1 > job->spec.min_replicas ? replicas + 1 : job->spec.min_replicas;
    while (next <= job->spec.max_replicas && !job_allows (job, next))
        next++;
    return next <= job->spec.max_replicas ? next : 0;
}

int job_fit_replicas (const struct job *job, int replicas)
{
    int fit = replicas < job->spec.max_replicas ? replicas : job->spec.max_replicas;
    while (fit > 0 && !job_allows (job, fit))
        fit--;
    return fit;
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
    int64_t most = job->spec.max_replicas;
    if (job->hints.max_profiled_replicas >= 0) {
        int64_t trusted = 2 * (int64_t)job->hints.max_profiled_replicas;
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

bool job_active (const struct job *job)
{
    return job->phase == JOB_PENDING || job->phase == JOB_RUNNING;
}

double job_remaining (const struct job *job)
{
    double remaining = job->hints.total - job->hints.progress;
    return remaining < 0 ? 0 : remaining; /* NaN stays NaN */
}

int job_place (struct job *job, struct placement placement)
{
    if (placement.count > job->share_capacity) {
        struct share *shares =
            realloc (job->shares, (size_t)placement.count * sizeof (job->shares[0]));
        if (!shares)
            return -ENOMEM;
        job->shares = shares;
        job->share_capacity = placement.count;
    }
    if (placement.count > 0)
        memmove (job->shares, placement.shares, (size_t)placement.count * sizeof (job->shares[0]));
    job->placement = (struct placement){.shares = job->shares, .count = placement.count};
    return 0;
}

void job_clear (struct job *job)
{
    free (job->shares);
    free (job->oracle.iter_s);
    job->shares = NULL;
    job->oracle.iter_s = NULL;
    job->placement = (struct placement){0};
    job->share_capacity = job->oracle.count = 0;
}
