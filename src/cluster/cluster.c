/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fold: one function per type of event, chosen by a table.  Each checks first and changes
 * afterwards, so that a refused event leaves no trace.
 *
 * Slot-seconds are charged whenever a job's placement may change and at every round: the job's
 * attained_s is right up to charged_us.
 */
#include "cluster/cluster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const double US = 1e-6;

void cluster_clear (struct cluster *cluster)
{
    if (!cluster)
        return;
    for (int i = 0; i < cluster->job_count; i++) {
        job_clear (cluster->jobs[i]);
        free (cluster->jobs[i]);
    }
    free (cluster->jobs);
    free (cluster->active);
    free (cluster->active_index);
    names_clear (&cluster->job_names);
    names_clear (&cluster->node_names);
    free (cluster->nodes);
    *cluster = (struct cluster){0};
}

/* ---- Nodes ---- */

static const char *node_name (const void *nodes, int index)
{
    return ((const struct node *)nodes)[index].name;
}

int cluster_find_node (const struct cluster *cluster, const char *name)
{
    return names_find (&cluster->node_names, name, node_name, cluster->nodes);
}

static int grow_nodes (struct cluster *cluster, struct pollux_error *err)
{
    if (cluster->node_count == NODES_LIMIT)
        return fail (err, -EINVAL, "more than %d nodes", NODES_LIMIT);
    if (cluster->node_count == cluster->node_capacity) {
        int capacity = cluster->node_capacity ? 2 * cluster->node_capacity : 16;
        struct node *nodes = realloc (cluster->nodes, (size_t)capacity * sizeof (nodes[0]));
        if (!nodes)
            return fail (err, -ENOMEM, "no memory for %d nodes", capacity);
        cluster->nodes = nodes;
        cluster->node_capacity = capacity;
    }
    if (names_reserve (&cluster->node_names, cluster->node_count + 1, node_name, cluster->nodes) <
        0)
        return fail (err, -ENOMEM, "no memory for %d nodes", cluster->node_count + 1);
    return 0;
}

static int apply_node (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    int known = cluster_find_node (cluster, event->node.name);
    if (known >= 0) {
        cluster->nodes[known] = event->node;
        return 0;
    }
    int rc = grow_nodes (cluster, err);
    if (rc < 0)
        return rc;
    cluster->nodes[cluster->node_count++] = event->node;
    names_add (&cluster->node_names, node_name, cluster->nodes);
    return 0;
}

/* ---- Jobs come and go ---- */

static const char *job_name (const void *jobs, int index)
{
    return ((struct job *const *)jobs)[index]->spec.name;
}

int cluster_find_job (const struct cluster *cluster, const char *name)
{
    return names_find (&cluster->job_names, name, job_name, cluster->jobs);
}

/* Room for one job more. */
static int grow_jobs (struct cluster *cluster, struct pollux_error *err)
{
    if (cluster->job_count == cluster->job_capacity) {
        int capacity = cluster->job_capacity ? 2 * cluster->job_capacity : 64;
        size_t size = (size_t)capacity * sizeof (struct job *);
        struct job **jobs = realloc (cluster->jobs, size);
        if (jobs)
            cluster->jobs = jobs;
        struct job **active = realloc (cluster->active, size);
        if (active)
            cluster->active = active;
        int *index = realloc (cluster->active_index, (size_t)capacity * sizeof (index[0]));
        if (index)
            cluster->active_index = index;
        if (!jobs || !active || !index)
            return fail (err, -ENOMEM, "no memory for %d jobs", capacity);
        cluster->job_capacity = capacity;
    }
    if (names_reserve (&cluster->job_names, cluster->job_count + 1, job_name, cluster->jobs) < 0)
        return fail (err, -ENOMEM, "no memory for %d jobs", cluster->job_count + 1);
    return 0;
}

static int apply_submit (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    const struct job_spec *spec = event->submit.spec;
    if (event->job != cluster->job_count)
        return fail (err, -EINVAL, "job %s: index %d, but the next is %d", spec->name, event->job,
                     cluster->job_count);
    if (cluster_find_job (cluster, spec->name) >= 0)
        return fail (err, -EINVAL, "job %s: there is one of that name already", spec->name);
    int rc = grow_jobs (cluster, err);
    if (rc < 0)
        return rc;
    struct job *job = calloc (1, sizeof (*job));
    if (!job)
        return fail (err, -ENOMEM, "no memory for job %s", spec->name);
    job->spec = *spec;
    job->hints = event->submit.hints;
    job->submit_us = job->charged_us = event->at_us;
    job->oracle.remaining = NAN;
    const struct oracle *oracle = event->submit.oracle;
    if (oracle) {
        job->oracle = *oracle;
        job->oracle.iter_s = malloc ((size_t)oracle->count * sizeof (oracle->iter_s[0]) + 1);
        if (!job->oracle.iter_s) {
            free (job);
            return fail (err, -ENOMEM, "no memory for job %s", spec->name);
        }
        memcpy (job->oracle.iter_s, oracle->iter_s,
                (size_t)oracle->count * sizeof (oracle->iter_s[0]));
    }
    cluster->active[cluster->active_count] = job;
    cluster->active_index[cluster->active_count++] = cluster->job_count;
    cluster->jobs[cluster->job_count++] = job;
    names_add (&cluster->job_names, job_name, cluster->jobs);
    return 0;
}

/* The job that an event speaks of; NULL and a sentence if it is not, or no longer, there. */
static struct job *active_job (struct cluster *cluster, const struct event *event,
                               struct pollux_error *err)
{
    if (event->job < 0 || event->job >= cluster->job_count) {
        fail (err, -EINVAL, "%s of job %d: there are %d jobs", event_names[event->type], event->job,
              cluster->job_count);
        return NULL;
    }
    struct job *job = cluster->jobs[event->job];
    if (!job_active (job)) {
        fail (err, -EINVAL, "%s of job %s, which has ended", event_names[event->type],
              job->spec.name);
        return NULL;
    }
    return job;
}

static void charge (struct job *job, int64_t at_us)
{
    if (job->placement.count > 0)
        job->attained_s +=
            placement_replicas (job->placement) * ((double)(at_us - job->charged_us) * US);
    job->charged_us = at_us;
}

/* Take a job out of the running for good. */
static void end_job (struct cluster *cluster, struct job *job, enum job_phase phase, int64_t at_us)
{
    charge (job, at_us);
    job->placement = (struct placement){0};
    job->phase = phase;
    job->end_us = at_us;
    int kept = 0;
    for (int i = 0; i < cluster->active_count; i++)
        if (cluster->active[i] != job) {
            cluster->active[kept] = cluster->active[i];
            cluster->active_index[kept++] = cluster->active_index[i];
        }
    cluster->active_count = kept;
}

static int apply_cancel (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    struct job *job = active_job (cluster, event, err);
    if (!job)
        return -EINVAL;
    end_job (cluster, job, JOB_CANCELLED, event->at_us);
    return 0;
}

static int apply_limits (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    struct job *job = active_job (cluster, event, err);
    if (!job)
        return -EINVAL;
    job->spec.min_replicas = event->limits.min_replicas;
    job->spec.max_replicas = event->limits.max_replicas;
    job->spec.weight = event->limits.weight;
    return 0;
}

static int apply_hints (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    for (int i = 0; i < event->hints.count; i++)
        if (event->hints.reports[i].job < 0 || event->hints.reports[i].job >= cluster->job_count)
            return fail (err, -EINVAL, "HINTS of job %d: there are %d jobs",
                         event->hints.reports[i].job, cluster->job_count);
    for (int i = 0; i < event->hints.count; i++) {
        const struct report *report = &event->hints.reports[i];
        struct job *job = cluster->jobs[report->job];
        job->hints = report->hints;
        job->batch = report->batch;
        job->oracle.remaining = report->oracle_remaining;
    }
    return 0;
}

/* ---- Rounds and generations ---- */

static int apply_round (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    (void)err;
    for (int i = 0; i < cluster->active_count; i++) {
        struct job *job = cluster->active[i];
        charge (job, event->at_us);
        job->age_s = (double)(event->at_us - job->submit_us) * US;
    }
    return 0;
}

static int apply_plan (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    /* A plan is an intention; START and EXIT tell what became of it. */
    if (event->plan->job_count != cluster->active_count)
        return fail (err, -EINVAL, "PLAN for %d jobs, but %d are active", event->plan->job_count,
                     cluster->active_count);
    return 0;
}

static int apply_start (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    struct job *job = active_job (cluster, event, err);
    if (!job)
        return -EINVAL;
    if (event->start.generation != job->generation + 1 || job->phase == JOB_RUNNING)
        return fail (err, -EINVAL, "START of job %s, generation %d, after %d", job->spec.name,
                     event->start.generation, job->generation);
    charge (job, event->at_us);
    if (job_place (job, event->start.placement) < 0)
        return fail (err, -ENOMEM, "no memory for the placement of job %s", job->spec.name);
    job->generation = event->start.generation;
    job->restarts += job->generation > 1 && !job->failed_last;
    job->failed_last = false;
    job->phase = JOB_RUNNING;
    return 0;
}

static int apply_started (struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    return active_job (cluster, event, err) ? 0 : -EINVAL;
}

static int apply_exit (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    struct job *job = active_job (cluster, event, err);
    if (!job)
        return -EINVAL;
    if (event->exit.generation != job->generation || job->phase != JOB_RUNNING)
        return fail (err, -EINVAL, "EXIT of job %s, generation %d, which does not run",
                     job->spec.name, event->exit.generation);
    if (event->exit.kind == EXITED_FINISHED || event->exit.kind == EXITED_GAVE_UP) {
        end_job (cluster, job, event->exit.kind == EXITED_FINISHED ? JOB_FINISHED : JOB_FAILED,
                 event->at_us);
        return 0;
    }
    charge (job, event->at_us);
    job->placement = (struct placement){0};
    job->phase = JOB_PENDING;
    job->failed_last = event->exit.kind == EXITED_FAILED;
    return 0;
}

int cluster_apply (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    static int (*const apply[EVENT_TYPES]) (struct cluster *, const struct event *,
                                            struct pollux_error *) = {
        [EVENT_SUBMIT] = apply_submit,   [EVENT_CANCEL] = apply_cancel,
        [EVENT_LIMITS] = apply_limits,   [EVENT_NODE] = apply_node,
        [EVENT_HINTS] = apply_hints,     [EVENT_ROUND] = apply_round,
        [EVENT_PLAN] = apply_plan,       [EVENT_START] = apply_start,
        [EVENT_STARTED] = apply_started, [EVENT_EXIT] = apply_exit,
    };
    if (event->at_us < cluster->now_us)
        return fail (err, -EINVAL, "%s at %lld us, after an event at %lld us",
                     event_names[event->type], (long long)event->at_us, (long long)cluster->now_us);
    int rc = apply[event->type](cluster, event, err);
    if (rc == 0)
        cluster->now_us = event->at_us;
    return rc;
}

struct view cluster_view (const struct cluster *cluster, const struct round *round)
{
    return (struct view){
        .nodes = cluster->nodes,
        .node_count = cluster->node_count,
        .jobs = (const struct job *const *)cluster->active,
        .job_count = cluster->active_count,
        .now_s = (double)cluster->now_us * US,
        .interval_s = round->interval_s,
        .restart_delay_s = round->restart_delay_s,
        .p = round->p,
        .search = round->search,
        .seed = round->seed,
        .budget = round->budget,
    };
}
