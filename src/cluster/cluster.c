/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apply events to the cluster: one function per type of event, in a table.  Each event is checked
 * first (check.c), so that a refused event changes nothing.
 *
 * Slot-seconds are added to a job whenever its placement may change, and at every round: attained_s
 * is right up to charged_us.
 */
#include "cluster/cluster.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static const double US = 1e-6;

/* ---- Lists of jobs ---- */

static void list_clear (struct job_list *list)
{
    free (list->jobs);
    free (list->indices);
}

static int list_reserve (struct job_list *list, int capacity)
{
    struct job **jobs = realloc (list->jobs, (size_t)capacity * sizeof (jobs[0]));
    if (jobs)
        list->jobs = jobs;
    int *indices = realloc (list->indices, (size_t)capacity * sizeof (indices[0]));
    if (indices)
        list->indices = indices;
    return jobs && indices ? 0 : -ENOMEM;
}

static void list_add (struct job_list *list, struct job *job, int index)
{
    list->jobs[list->count] = job;
    list->indices[list->count++] = index;
}

/* Indices ascend: binary search, then close the gap. */
static void list_remove (struct job_list *list, int index)
{
    int low = 0, high = list->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (list->indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count || list->indices[low] != index)
        return;
    size_t after = (size_t)(--list->count - low);
    memmove (&list->jobs[low], &list->jobs[low + 1], after * sizeof (list->jobs[0]));
    memmove (&list->indices[low], &list->indices[low + 1], after * sizeof (list->indices[0]));
}

void cluster_clear (struct cluster *cluster)
{
    if (!cluster)
        return;
    for (int i = 0; i < cluster->job_count; i++) {
        job_clear (cluster->jobs[i]);
        free (cluster->jobs[i]);
    }
    free (cluster->jobs);
    list_clear (&cluster->live);
    list_clear (&cluster->active);
    experience_clear (&cluster->experience);
    name_table_clear (&cluster->job_names);
    name_table_clear (&cluster->node_names);
    free (cluster->nodes);
    free (cluster->node_power);
    ledger_clear (&cluster->ledger);
    *cluster = (struct cluster){0};
}

/* ---- Nodes ---- */

static const char *node_name (const void *nodes, int index)
{
    return ((const struct node *)nodes)[index].name;
}

int cluster_find_node (const struct cluster *cluster, const char *name)
{
    return name_table_find (&cluster->node_names, name, node_name, cluster->nodes);
}

bool cluster_has_type (const struct cluster *cluster, const char *type)
{
    for (int i = 0; i < cluster->power.count; i++)
        if (!cluster->power.groups[i].retired && strcmp (cluster->power.groups[i].type, type) == 0)
            return true;
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].slots > 0 && strcmp (cluster->nodes[i].type, type) == 0)
            return true;
    return false;
}

bool cluster_uses_node (const struct cluster *cluster, int node)
{
    for (int i = 0; i < cluster->live.count; i++)
        if (placement_on (cluster->live.jobs[i]->placement, node) > 0)
            return true;
    return false;
}

static int grow_nodes (struct cluster *cluster, struct pollux_error *err)
{
    struct node *nodes = array_grow (cluster->nodes, cluster->node_count, &cluster->node_capacity,
                                     sizeof (nodes[0]));
    if (nodes)
        cluster->nodes = nodes;
    struct node_power *power = array_grow (cluster->node_power, cluster->node_count,
                                           &cluster->power_capacity, sizeof (power[0]));
    if (power)
        cluster->node_power = power;
    if (!nodes || !power ||
        name_table_reserve (&cluster->node_names, cluster->node_count + 1, node_name,
                            cluster->nodes) < 0)
        return fail (err, -ENOMEM, "no memory for %d nodes", cluster->node_count + 1);
    return 0;
}

int cluster_add_node (struct cluster *cluster, const char *name, int64_t at_us,
                      struct pollux_error *err)
{
    int index = cluster_find_node (cluster, name);
    if (index >= 0)
        return index;
    int rc = grow_nodes (cluster, err);
    if (rc < 0)
        return rc;
    index = cluster->node_count++;
    int group = node_groups_find_node (cluster->power.groups, cluster->power.count, name);
    cluster->nodes[index] =
        (struct node){.revocations_per_s =
                          group < 0 ? 0 : node_group_revocations (&cluster->power.groups[group])};
    snprintf (cluster->nodes[index].name, NAME_SIZE, "%s", name);
    cluster->node_power[index] = (struct node_power){
        .group = group,
        .state = group < 0 ? POWER_NONE : POWER_OFF,
        .since_us = at_us,
        .billed_us = at_us,
    };
    name_table_add (&cluster->node_names, node_name, cluster->nodes);
    return index;
}

static int apply_node (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    int index = cluster_add_node (cluster, event->node.name, event->at_us, err);
    if (index < 0)
        return index;
    int rc = power_charge (cluster, index, event->at_us, err);
    if (rc == 0 && cluster->node_power[index].group >= 0)
        rc = cluster_charge_jobs (cluster, index, event->at_us, err);
    if (rc < 0)
        return rc;
    cluster->nodes[index] = event->node;
    power_take_node (cluster, index, event->at_us);
    return 0;
}

/* ---- Jobs ---- */

static const char *job_name (const void *jobs, int index)
{
    return ((struct job *const *)jobs)[index]->spec.name;
}

int cluster_find_job (const struct cluster *cluster, const char *name)
{
    return name_table_find (&cluster->job_names, name, job_name, cluster->jobs);
}

/* Make room for one more job. */
static int grow_jobs (struct cluster *cluster, struct pollux_error *err)
{
    if (cluster->job_count == cluster->job_capacity) {
        int capacity = cluster->job_capacity ? 2 * cluster->job_capacity : 64;
        size_t size = (size_t)capacity * sizeof (struct job *);
        struct job **jobs = realloc (cluster->jobs, size);
        if (jobs)
            cluster->jobs = jobs;
        if (!jobs || list_reserve (&cluster->live, capacity) < 0 ||
            list_reserve (&cluster->active, capacity) < 0)
            return fail (err, -ENOMEM, "no memory for %d jobs", capacity);
        cluster->job_capacity = capacity;
    }
    if (name_table_reserve (&cluster->job_names, cluster->job_count + 1, job_name, cluster->jobs) <
        0)
        return fail (err, -ENOMEM, "no memory for %d jobs", cluster->job_count + 1);
    return 0;
}

static int copy_oracle (struct job *job, const struct oracle *oracle)
{
    job->oracle.remaining = NAN;
    if (!oracle)
        return 0;
    size_t size = (size_t)oracle->count * sizeof (oracle->iter_s[0]);
    double *iter_s = malloc (size + 1);
    if (!iter_s)
        return -ENOMEM;
    memcpy (iter_s, oracle->iter_s, size);
    job->oracle = *oracle;
    job->oracle.iter_s = iter_s;
    return 0;
}

static int apply_submit (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    const struct job_spec *spec = event->submit.spec;
    int rc = grow_jobs (cluster, err);
    if (rc < 0)
        return rc;
    struct job *job = calloc (1, sizeof (*job));
    if (!job)
        return fail (err, -ENOMEM, "no memory for job %s", spec->name);
    job->spec = *spec;
    job->hints = event->submit.hints;
    job->application = experience_application (spec, event->submit.launch);
    job->submit_us = job->charged_us = job->aged_us = event->at_us;
    job->delay_s = NAN;
    if (copy_oracle (job, event->submit.oracle) < 0 ||
        (event->submit.launch && !(job->launch = launch_copy (event->submit.launch)))) {
        job_clear (job);
        free (job);
        return fail (err, -ENOMEM, "no memory for job %s", spec->name);
    }
    list_add (&cluster->live, job, cluster->job_count);
    cluster->jobs[cluster->job_count++] = job;
    name_table_add (&cluster->job_names, job_name, cluster->jobs);
    return 0;
}

static int charge (struct cluster *cluster, struct job *job, int64_t at_us,
                   struct pollux_error *err)
{
    if (job->placement.count > 0) {
        double held_s = (double)(at_us - job->charged_us) * US;
        double slots = placement_replicas (job->placement);
        double price = power_placement_price (cluster, job->placement);
        if (ledger_add (&cluster->ledger, job->charged_us, at_us,
                        job->launch ? job->launch->owner : "", slots, price, &job->account) < 0)
            return fail (err, -ENOMEM, "no memory for the costs of job %s", job->spec.name);
        job->held_s += held_s;
        job->attained_s += slots * held_s;
        job->cost += price * held_s;
    }
    job->charged_us = at_us;
    return 0;
}

static bool is_on (struct placement placement, int node)
{
    for (int i = 0; i < placement.count; i++)
        if (placement.shares[i].node == node)
            return true;
    return false;
}

int cluster_charge_jobs (struct cluster *cluster, int node, int64_t at_us, struct pollux_error *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < cluster->live.count; i++) {
        struct job *job = cluster->live.jobs[i];
        if (node < 0 || is_on (job->placement, node))
            rc = charge (cluster, job, at_us, err);
    }
    return rc;
}

/* The generation of the job has ended, or there was none. */
static int vacate (struct cluster *cluster, struct job *job, enum job_phase phase, int64_t at_us,
                   struct pollux_error *err)
{
    int rc = charge (cluster, job, at_us, err);
    if (rc < 0)
        return rc;
    job->placement = (struct placement){0};
    job->phase = phase;
    return 0;
}

/* Later jobs of its application learn from what it has measured. */
static int remember (struct cluster *cluster, const struct job *job, struct pollux_error *err)
{
    struct ended_job past = {
        .application = job->application, .hints = job->hints, .noise = job->noise};
    if (!job->application || !hints_are_evidence (&job->hints))
        return 0;
    past.hints.step_s = past.hints.rate_factor = NAN; /* they were of its last placement */
    return experience_add (&cluster->experience, &past) < 0
               ? fail (err, -ENOMEM, "no memory for the experience of %d jobs", EXPERIENCE_LIMIT)
               : 0;
}

/* End a job: finished, failed or cancelled. */
static int end_job (struct cluster *cluster, int index, enum job_phase phase, int64_t at_us,
                    struct pollux_error *err)
{
    struct job *job = cluster->jobs[index];
    int rc = remember (cluster, job, err);
    if (rc == 0)
        rc = vacate (cluster, job, phase, at_us, err);
    if (rc < 0)
        return rc;
    job->desired = (struct placement){0};
    job->end_us = at_us;
    list_remove (&cluster->live, index);
    return 0;
}

static int apply_cancel (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    struct job *job = cluster->jobs[event->job];
    if (!job_runs (job))
        return end_job (cluster, event->job, JOB_CANCELLED, event->at_us, err);
    job->phase = JOB_CANCELLING;
    job->desired = (struct placement){0};
    return 0;
}

static int apply_limits (struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    (void)err;
    struct job *job = cluster->jobs[event->job];
    job->spec.min_replicas = event->limits.min_replicas;
    job->spec.max_replicas = event->limits.max_replicas;
    job->spec.weight = event->limits.weight;
    return 0;
}

/* An agent without evidence of a gain reports that there is none (gain_max 1): its next report replaces that. */
static void note_noise (struct job *job)
{
    struct pollux_grad *point = &job->noise.points[hints_noise_point (&job->hints)];
    bool known = point->sqr > 0 && point->gain_max != 1;
    if (job->hints.has_model && job->hints.grad.sqr > 0 && !known)
        *point = job->hints.grad;
}

static int apply_hints (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    (void)err;
    for (int i = 0; i < event->hints.count; i++) {
        const struct report *report = &event->hints.reports[i];
        struct job *job = cluster->jobs[report->job];
        job->hints = report->hints;
        note_noise (job);
        job->batch = report->batch;
        job->oracle.remaining = report->oracle_remaining;
    }
    return 0;
}

/* ---- Rounds and generations ---- */

/* Between two rounds a job ages at most one day, even if the clock jumped or the daemon was down. */
static const int64_t AGE_STEP_LIMIT_US = (int64_t)86400 * 1000000;

static void age (struct job *job, const struct event *round)
{
    int64_t step_us = round->at_us - job->aged_us;
    job->age_us += step_us < AGE_STEP_LIMIT_US ? step_us : AGE_STEP_LIMIT_US;
    job->aged_us = round->at_us;
    job->age_s = fmax ((double)job->age_us * US, round->round.least_age_s);
}

static int apply_round (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    int rc = power_charge_all (cluster, event->at_us, err);
    if (rc == 0)
        rc = cluster_charge_jobs (cluster, -1, event->at_us, err);
    if (rc < 0)
        return rc;
    cluster->round_us = event->at_us;
    cluster->active.count = cluster->paused = 0;
    for (int i = 0; i < cluster->live.count; i++) {
        struct job *job = cluster->live.jobs[i];
        age (job, event);
        if (job->phase == JOB_CANCELLING)
            continue;
        if (job->retry_us > event->at_us)
            cluster->paused++;
        else
            list_add (&cluster->active, job, cluster->live.indices[i]);
    }
    return 0;
}

/* A plan sets desired placements only; START and EXIT report what was done.  It may come some time
 * after its round: it does not apply to jobs that ended, failed or were started since then. */
static int apply_plan (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    const struct plan *plan = event->plan;
    for (int i = 0; i < plan->job_count; i++) {
        struct job *job = cluster->active.jobs[i];
        bool waiting = job->phase == JOB_PENDING && job->retry_us <= event->at_us;
        bool running = job->phase == JOB_RUNNING && job->start_us <= cluster->round_us;
        if ((waiting || running) && job_desire (job, plan_placement (plan, i)) < 0)
            return fail (err, -ENOMEM, "no memory for a plan of %d jobs", plan->job_count);
    }
    return 0;
}

static int apply_start (struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    struct job *job = cluster->jobs[event->job];
    int rc = charge (cluster, job, event->at_us, err);
    if (rc < 0)
        return rc;
    if (job_place (job, event->start.placement) < 0)
        return fail (err, -ENOMEM, "no memory for the placement of job %s", job->spec.name);
    job->generation = event->start.generation;
    job->restarts += job->generation > 1 && !job->failed_last && !event->start.relocated;
    job->failed_last = false;
    if (!event->start.relocated)
        job->start_us = event->at_us;
    job->phase = JOB_RUNNING;
    return 0;
}

static int apply_started (struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    (void)err;
    struct job *job = cluster->jobs[event->job];
    job->delay_s = (double)(event->at_us - job->start_us) * US;
    return 0;
}

static int apply_exit (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    struct job *job = cluster->jobs[event->job];
    enum exit_kind kind = event->exit.kind;
    int rc = 0;
    memcpy (job->detail, event->exit.detail, sizeof (job->detail));
    if (kind == EXITED_FINISHED)
        rc = end_job (cluster, event->job, JOB_FINISHED, event->at_us, err);
    else if (job->phase == JOB_CANCELLING)
        rc = end_job (cluster, event->job, JOB_CANCELLED, event->at_us, err);
    else if (kind == EXITED_GAVE_UP)
        rc = end_job (cluster, event->job, JOB_FAILED, event->at_us, err);
    else
        rc = vacate (cluster, job, JOB_PENDING, event->at_us, err);
    if (rc < 0)
        return rc;
    job->failed_last = kind != EXITED_STOPPED && kind != EXITED_FINISHED;
    job->failures += kind == EXITED_FAILED || kind == EXITED_GAVE_UP;
    double wait_s = event->exit.pause_s;
    bool backs_off =
        kind == EXITED_FAILED && job->launch; /* perhaps for 0 s: the next plan decides */
    if (backs_off)
        wait_s = fmax (wait_s, launch_backoff (job->launch, job->failures));
    if ((backs_off || wait_s > 0) && job->phase == JOB_PENDING) {
        job->desired = (struct placement){0}; /* free for other jobs meanwhile */
        job->retry_us = event->at_us + (int64_t)(wait_s / US);
    }
    return 0;
}

int cluster_apply_checked (struct cluster *cluster, const struct event *event,
                           struct pollux_error *err)
{
    static int (*const apply[EVENT_TYPES]) (struct cluster *, const struct event *,
                                            struct pollux_error *) = {
        [EVENT_SUBMIT] = apply_submit,       [EVENT_CANCEL] = apply_cancel,
        [EVENT_LIMITS] = apply_limits,       [EVENT_NODE] = apply_node,
        [EVENT_HINTS] = apply_hints,         [EVENT_ROUND] = apply_round,
        [EVENT_PLAN] = apply_plan,           [EVENT_START] = apply_start,
        [EVENT_STARTED] = apply_started,     [EVENT_EXIT] = apply_exit,
        [EVENT_GROUPS] = power_apply_groups, [EVENT_SIZE] = power_apply_size,
        [EVENT_POWER] = power_apply_change,
    };
    int rc = apply[event->type](cluster, event, err);
    if (rc == 0)
        cluster->now_us = event->at_us;
    return rc;
}

int cluster_apply (struct cluster *cluster, const struct event *event, struct pollux_error *err)
{
    int rc = cluster_check (cluster, event, err);
    return rc < 0 ? rc : cluster_apply_checked (cluster, event, err);
}

struct view cluster_view (const struct cluster *cluster, const struct round *round)
{
    return (struct view){
        .nodes = cluster->nodes,
        .node_count = cluster->node_count,
        .power = cluster->power.count > 0 ? &cluster->power : NULL,
        .node_power = cluster->node_power,
        .jobs = (const struct job *const *)cluster->active.jobs,
        .job_count = cluster->active.count,
        .paused = cluster->paused,
        .now_s = (double)cluster->now_us * US,
        .interval_s = round->interval_s,
        .restart_delay_s = round->restart_delay_s,
        .p = round->p,
        .settings = round->settings,
        .search = round->search,
        .seed = round->seed,
        .budget = round->budget,
        .experience = round->experience ? &cluster->experience : NULL,
    };
}
