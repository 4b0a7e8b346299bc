/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check whether an event can come next: one function per type of event, in a table.  They change
 * nothing: an event is checked before it is appended to the journal.
 */
#include <errno.h>

#include "base/error.h"
#include "cluster/cluster.h"

static int check_node (const struct cluster *cluster, const struct event *event,
                       struct pollux_error *err)
{
    if (cluster->node_count == NODES_LIMIT && cluster_find_node (cluster, event->node.name) < 0)
        return fail (err, -EINVAL, "more than %d nodes", NODES_LIMIT);
    return 0;
}

static int check_submit (const struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    const char *name = event->submit.spec->name;
    if (event->job != cluster->job_count)
        return fail (err, -EINVAL, "job %s: index %d, but the next is %d", name, event->job,
                     cluster->job_count);
    if (cluster_find_job (cluster, name) >= 0)
        return fail (err, -EINVAL, "job %s: a job with this name exists already", name);
    return 0;
}

/* The event must refer to a job that has not ended. */
static int check_live (const struct cluster *cluster, const struct event *event,
                       struct pollux_error *err)
{
    const char *type = event_names[event->type];
    if (event->job < 0 || event->job >= cluster->job_count)
        return fail (err, -EINVAL, "%s of job %d: there are %d jobs", type, event->job,
                     cluster->job_count);
    const struct job *job = cluster->jobs[event->job];
    if (!job_live (job))
        return fail (err, -EINVAL, "%s of job %s, which has ended", type, job->spec.name);
    return 0;
}

static int check_hints (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    for (int i = 0; i < event->hints.count; i++) {
        int job = event->hints.reports[i].job;
        if (job < 0 || job >= cluster->job_count)
            return fail (err, -EINVAL, "HINTS of job %d: there are %d jobs", job,
                         cluster->job_count);
    }
    return 0;
}

static int check_round (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    (void)cluster;
    (void)event;
    (void)err;
    return 0;
}

static int check_plan (const struct cluster *cluster, const struct event *event,
                       struct pollux_error *err)
{
    if (event->plan->job_count != cluster->active.count)
        return fail (err, -EINVAL, "PLAN for %d jobs, but %d are active", event->plan->job_count,
                     cluster->active.count);
    return 0;
}

static int check_start (const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    int rc = check_live (cluster, event, err);
    if (rc < 0)
        return rc;
    const struct job *job = cluster->jobs[event->job];
    if (event->start.generation != job->generation + 1 || job->phase != JOB_PENDING)
        return fail (err, -EINVAL, "START of job %s, generation %d, after %d", job->spec.name,
                     event->start.generation, job->generation);
    return 0;
}

/* The event must refer to the generation that runs. */
static int check_running (const struct cluster *cluster, const struct event *event, int generation,
                          struct pollux_error *err)
{
    int rc = check_live (cluster, event, err);
    if (rc < 0)
        return rc;
    const struct job *job = cluster->jobs[event->job];
    if (generation != job->generation || !job_runs (job))
        return fail (err, -EINVAL, "%s of job %s, generation %d, which does not run",
                     event_names[event->type], job->spec.name, generation);
    return 0;
}

static int check_started (const struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    return check_running (cluster, event, event->start.generation, err);
}

static int check_exit (const struct cluster *cluster, const struct event *event,
                       struct pollux_error *err)
{
    return check_running (cluster, event, event->exit.generation, err);
}

int cluster_check (const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    static int (*const check[EVENT_TYPES]) (const struct cluster *, const struct event *,
                                            struct pollux_error *) = {
        [EVENT_SUBMIT] = check_submit,       [EVENT_CANCEL] = check_live,
        [EVENT_LIMITS] = check_live,         [EVENT_NODE] = check_node,
        [EVENT_HINTS] = check_hints,         [EVENT_ROUND] = check_round,
        [EVENT_PLAN] = check_plan,           [EVENT_START] = check_start,
        [EVENT_STARTED] = check_started,     [EVENT_EXIT] = check_exit,
        [EVENT_GROUPS] = power_check_groups, [EVENT_SIZE] = power_check_size,
        [EVENT_POWER] = power_check_change,
    };
    if (event->at_us < cluster->now_us)
        return fail (err, -EINVAL, "%s at %lld us, after an event at %lld us",
                     event_names[event->type], (long long)event->at_us, (long long)cluster->now_us);
    if (event->at_us > CLUSTER_TIME_LIMIT_US)
        return fail (err, -EINVAL, "%s at %lld us: expected a time up to 2^53 us, in the year 2255",
                     event_names[event->type], (long long)event->at_us);
    return check[event->type](cluster, event, err);
}
