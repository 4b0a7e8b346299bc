/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs to JSON.  json_pack takes ownership of its parts and returns NULL if a part is NULL, so missing
 * memory is checked once, at the end.
 */
#include "api/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/costs.h"
#include "policy/speedup.h"
#include "wire/placement.h"
#include "wire/policy_settings.h"
#include "wire/spec.h"

static const double US = 1e-6;

/* ---- Parts -------------------------------------------------------------------------------- */

json_t *describe_number (double number)
{
    return isfinite (number) ? json_real (number) : json_null ();
}

json_t *describe_time (int64_t us)
{
    return us >= 0 ? json_real ((double)us * US) : json_null ();
}

json_t *describe_batch (struct pollux_batch batch, double total)
{
    if (batch.m <= 0)
        return json_null ();
    return json_pack ("{s:I, s:I, s:o}", "m", (json_int_t)batch.m, "s", (json_int_t)batch.s,
                      "total", describe_number (total));
}

json_t *describe_text (const char *text)
{
    return text && text[0] ? json_string (text) : json_null ();
}

/* Add a value, which is consumed, to the object. */
static bool put (json_t *object, const char *key, json_t *value)
{
    return json_object_set_new (object, key, value) == 0;
}

/* Fields of a job file that may be absent there, with their defaults. */
static bool put_choices (json_t *object, const struct job_spec *spec)
{
    return wire_allowed_put (&spec->allowed, object, NULL) == 0 &&
           wire_types_put (&spec->types, object, NULL) == 0 &&
           wire_speeds_put (&spec->speeds, object, NULL) == 0 &&
           (json_object_get (object, "allowed") || put (object, "allowed", json_string ("any"))) &&
           (json_object_get (object, "types") || put (object, "types", json_string ("any"))) &&
           (json_object_get (object, "speeds") || put (object, "speeds", json_object ()));
}

/* Return the object, or free it and return NULL if a part is missing. */
static json_t *complete (json_t *object, bool whole)
{
    if (whole)
        return object;
    json_decref (object);
    return NULL;
}

struct present present_make (const struct cluster *cluster, const struct cluster_status *status,
                             const struct round *round, int64_t now_us)
{
    struct view view = cluster_view (cluster, round);
    return (struct present){
        .cluster = cluster,
        .reports = &status->reports,
        .rounds = &status->rounds,
        .round = round,
        .now_us = now_us,
        .next_round_us = status->next_round_us,
        .totals = slot_totals_of (cluster),
        .fair = fair_replicas (&view),
        .goodput = history_goodput (&status->history),
    };
}

struct wait_times present_times (const struct present *present)
{
    return (struct wait_times){.now_us = present->now_us, .next_round_us = present->next_round_us};
}

/* ---- Jobs --------------------------------------------------------------------------------- */

static json_t *describe_waiting (const struct present *present, const struct job *job)
{
    char sentence[WAIT_REASON_SIZE];
    return wait_reason (present->cluster, &present->totals, job, present_times (present), sentence)
               ? json_string (sentence)
               : json_null ();
}

/* Fields of the submission. */
static bool put_spec (json_t *object, const struct job *job)
{
    const struct job_spec *spec = &job->spec;
    const struct launch *launch = job->launch;
    return put (object, "min_replicas", json_integer (spec->min_replicas)) &&
           put (object, "max_replicas", json_integer (spec->max_replicas)) &&
           put_choices (object, spec) &&
           put (object, "application",
                spec->application[0] ? json_string (spec->application) : json_null ()) &&
           put (object, "ignore_experience", json_boolean (spec->ignore_experience)) &&
           put (object, "weight", json_real (spec->weight)) &&
           put (object, "preemptible", json_boolean (spec->preemptible)) &&
           put (object, "adaptive", json_boolean (spec->adaptive)) &&
           put (object, "launcher",
                launch ? json_string (launcher_names[launch->launcher]) : json_null ()) &&
           put (object, "fixed_batch",
                spec->fixed_batch > 0 ? json_integer (spec->fixed_batch) : json_null ());
}

struct job_figures job_figures_of (const struct present *present, int index)
{
    const struct job *job = present->cluster->jobs[index];
    struct pollux_batch batch;
    const struct hints *hints = latest_hints (present->cluster, present->reports, index, &batch);
    double running_s = job_runs (job) ? (double)(present->now_us - job->charged_us) * US : 0;
    return (struct job_figures){
        .hints = hints,
        .rates = job_rates_of (job, hints, batch, present->round->search, present->fair),
        .started_us = job->generation > 0 ? job->start_us : -1,
        .ended_us = job_live (job) ? -1 : job->end_us,
        .run_s = job->held_s + running_s,
        .cost = costs_of_job (present->cluster, job, present->now_us),
        .price_per_hour = costs_of_job_hour (present->cluster, job),
    };
}

/* Times and counters. */
static bool put_times (json_t *object, const struct present *present, const struct job *job,
                       const struct job_figures *figures)
{
    int64_t until_us = job_live (job) ? present->now_us : job->end_us;
    return put (object, "submitted_at", describe_time (job->submit_us)) &&
           put (object, "started_at", describe_time (figures->started_us)) &&
           put (object, "ended_at", describe_time (figures->ended_us)) &&
           put (object, "retry_at", describe_time (wait_retry_us (job, present->now_us))) &&
           put (object, "age_s", json_real ((double)(until_us - job->submit_us) * US)) &&
           put (object, "run_s", describe_number (figures->run_s)) &&
           put (object, "cost", describe_number (figures->cost)) &&
           put (object, "price_per_hour", describe_number (figures->price_per_hour)) &&
           put (object, "generation", json_integer (job->generation)) &&
           put (object, "restarts", json_integer (job->restarts)) &&
           put (object, "failures", json_integer (job->failures));
}

static bool put_rates (json_t *object, const struct job_figures *figures)
{
    const struct job_rates *rates = &figures->rates;
    static const char *const keys[] = {"throughput",  "efficiency", "goodput", "speedup",
                                       "noise_scale", "progress",   "total",   "eta_s"};
    const double values[] = {rates->throughput,     rates->efficiency,  rates->goodput,
                             rates->speedup,        rates->noise_scale, figures->hints->progress,
                             figures->hints->total, rates->eta_s};
    _Static_assert(sizeof (keys) / sizeof (keys[0]) == sizeof (values) / sizeof (values[0]),
                   "a key each");
    bool whole = put (object, "batch", describe_batch (rates->batch, rates->total_batch));
    for (size_t i = 0; whole && i < sizeof (keys) / sizeof (keys[0]); i++)
        whole = put (object, keys[i], describe_number (values[i]));
    return whole;
}

json_t *describe_job (const struct present *present, int index)
{
    const struct job *job = present->cluster->jobs[index];
    struct job_figures figures = job_figures_of (present, index);
    json_t *object =
        json_pack ("{s:s, s:o, s:s, s:o, s:i, s:o, s:o}", "name", job->spec.name, "owner",
                   describe_text (job->launch ? job->launch->owner : NULL), "phase",
                   job_phase_names[job->phase], "waits_for", describe_waiting (present, job),
                   "replicas", placement_replicas (job->placement), "placement",
                   wire_placement_encode (present->cluster, job->placement), "desired",
                   wire_placement_encode (present->cluster, job->desired));
    bool whole = object && put_spec (object, job) && put_times (object, present, job, &figures) &&
                 put_rates (object, &figures) &&
                 put (object, "detail", describe_text (job->detail));
    return complete (object, whole);
}

static json_t *describe_strings (char *const *strings)
{
    json_t *array = json_array ();
    bool whole = array != NULL;
    for (int i = 0; whole && strings && strings[i]; i++)
        whole = json_array_append_new (array, json_string (strings[i])) == 0;
    return complete (array, whole);
}

/* NAME=value to {"NAME": "value"}. */
static json_t *describe_environment (char *const *environment)
{
    json_t *object = json_object ();
    bool whole = object != NULL;
    for (int i = 0; whole && environment && environment[i]; i++) {
        const char *equals = strchr (environment[i], '=');
        char *name = equals ? strndup (environment[i], (size_t)(equals - environment[i])) : NULL;
        whole = name && put (object, name, json_string (equals + 1));
        free (name);
    }
    return complete (object, whole);
}

static bool put_launch (json_t *object, const struct launch *launch, bool secrets)
{
    static const char *const keys[] = {"command",        "environment", "directory",
                                       "checkpoint_dir", "stop_signal", "grace_s",
                                       "max_failures",   "backoff_s"};
    if (!launch) {
        bool whole = true;
        for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++)
            whole = whole && put (object, keys[i], json_null ());
        return whole;
    }
    json_t *fields = json_pack (
        "{s:o, s:o, s:o, s:o, s:i, s:o, s:i, s:o}", "command", describe_strings (launch->command),
        "environment", secrets ? describe_environment (launch->environment) : json_null (),
        "directory", describe_text (launch->directory), "checkpoint_dir",
        describe_text (launch->checkpoint_dir), "stop_signal", launch->stop_signal, "grace_s",
        describe_number (launch->grace_s), "max_failures", launch->max_failures, "backoff_s",
        describe_number (launch->backoff_s));
    bool whole = fields && json_object_update (object, fields) == 0;
    json_decref (fields);
    return whole;
}

static json_t *describe_hints (const struct hints *hints)
{
    json_t *object = json_object ();
    return complete (object, object && wire_hints_put (hints, object, NULL) == 0);
}

json_t *describe_job_fully (const struct present *present, int index, bool secrets)
{
    const struct job *job = present->cluster->jobs[index];
    struct pollux_batch batch;
    const struct hints *hints = latest_hints (present->cluster, present->reports, index, &batch);
    json_t *object = describe_job (present, index);
    bool whole = object && put_launch (object, job->launch, secrets) &&
                 put (object, "hints", describe_hints (hints)) &&
                 put (object, "refused_report",
                      describe_text (report_set_refusal (present->reports, index)));
    return complete (object, whole);
}

/* ---- Nodes -------------------------------------------------------------------------------- */

/* For each of count nodes from first on: an object of its jobs, and its used slots. */
static bool gather_jobs (const struct cluster *cluster, int first, int count, json_t **jobs,
                         int *used)
{
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        for (int j = 0; j < job->placement.count; j++) {
            struct share share = job->placement.shares[j];
            int place = share.node - first;
            if (place < 0 || place >= count)
                continue;
            if (!put (jobs[place], job->spec.name, json_integer (share.replicas)))
                return false;
            used[place] += share.replicas;
        }
    }
    return true;
}

/* Whether it exists, for a node of a group. */
static bool put_power (json_t *object, const struct cluster *cluster, int node)
{
    const struct node_power *power = &cluster->node_power[node];
    bool grouped = power->group >= 0;
    return put (object, "group",
                describe_text (grouped ? cluster->power.groups[power->group].name : NULL)) &&
           put (object, "power", describe_text (grouped ? power_names[power->state] : NULL)) &&
           put (object, "since_at", describe_time (grouped ? power->since_us : -1)) &&
           put (object, "deadline_at",
                describe_time (power->deadline_us > 0 ? power->deadline_us : -1));
}

/* An array of count nodes from first on. */
static json_t *describe_some_nodes (const struct present *present, int first, int count)
{
    const struct cluster *cluster = present->cluster;
    json_t **jobs = calloc ((size_t)count + 1, sizeof (jobs[0]));
    int *used = calloc ((size_t)count + 1, sizeof (used[0]));
    json_t *array = json_array ();
    bool whole = jobs && used && array;
    for (int i = 0; whole && i < count; i++)
        whole = (jobs[i] = json_object ()) != NULL;
    whole = whole && gather_jobs (cluster, first, count, jobs, used);
    for (int i = 0; whole && i < count; i++) {
        const struct node *node = &cluster->nodes[first + i];
        json_t *object = json_pack ("{s:s, s:o, s:i, s:i, s:b, s:O}", "name", node->name, "type",
                                    describe_text (node->type), "slots", node->slots, "used",
                                    used[i], "available", node->available, "jobs", jobs[i]);
        whole =
            json_array_append_new (array, object) == 0 && put_power (object, cluster, first + i);
    }
    for (int i = 0; jobs && i < count; i++)
        json_decref (jobs[i]);
    free (jobs);
    free (used);
    return complete (array, whole);
}

json_t *describe_nodes (const struct present *present)
{
    return describe_some_nodes (present, 0, present->cluster->node_count);
}

json_t *describe_node (const struct present *present, int node)
{
    json_t *array = describe_some_nodes (present, node, 1);
    json_t *object = array ? json_incref (json_array_get (array, 0)) : NULL;
    json_decref (array);
    return object;
}

/* ---- Rounds and the cluster ---------------------------------------------------------------- */

/* The fields that plans and rounds share. */
static json_t *describe_decision (const struct round_summary *summary)
{
    return json_pack ("{s:I, s:o, s:s, s:b, s:o, s:o, s:o, s:o}", "round", (json_int_t)summary->seq,
                      "at", describe_time (summary->at_us), "policy", summary->policy, "fill",
                      summary->fill, "fitness", describe_number (summary->fitness), "bound",
                      describe_number (summary->bound), "price", describe_number (summary->price),
                      "decide_s", describe_number (summary->decide_s));
}

json_t *describe_round (const struct round_summary *summary)
{
    json_t *object = describe_decision (summary);
    bool whole =
        object && put (object, "p", describe_number (summary->p)) &&
        wire_policy_settings_put (object, "policy_options", &summary->settings, NULL) == 0 &&
        put (object, "jobs", json_integer (summary->jobs)) &&
        put (object, "restarts", json_integer (summary->restarts)) &&
        put (object, "used_slots", json_integer (summary->used_slots)) &&
        put (object, "changed",
             summary->changed >= 0 ? json_integer (summary->changed) : json_null ()) &&
        put (object, "text", describe_text (summary->text));
    return complete (object, whole);
}

json_t *describe_plan (const struct present *present)
{
    const struct cluster *cluster = present->cluster;
    const struct round_summary *summary = round_history_get (present->rounds, 0);
    json_t *object = summary ? describe_decision (summary)
                             : json_pack ("{s:n, s:n, s:s, s:n, s:n, s:n, s:n, s:n}", "round", "at",
                                          "policy", present->round->policy, "fill", "fitness",
                                          "bound", "price", "decide_s");
    json_t *placements = json_object ();
    bool whole = object && placements;
    for (int i = 0; whole && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        if (job->desired.count > 0)
            whole = put (placements, job->spec.name, wire_placement_encode (cluster, job->desired));
    }
    whole = whole && json_object_set (object, "placements", placements) == 0;
    json_decref (placements);
    return complete (object, whole);
}

/* Nodes that exist, or are ordered, and the slots that the cluster has with all nodes of its groups. */
static void count_nodes (const struct cluster *cluster, int *ret_nodes, int64_t *ret_most)
{
    *ret_nodes = 0;
    *ret_most = 0;
    for (int i = 0; i < cluster->node_count; i++) {
        *ret_nodes += cluster->node_power[i].state != POWER_OFF;
        *ret_most += cluster->node_power[i].group < 0 ? cluster->nodes[i].slots : 0;
    }
    for (int i = 0; i < cluster->power.count; i++)
        *ret_most += (int64_t)node_group_most (&cluster->power.groups[i]) *
                     cluster->power.groups[i].slots_per_node;
}

json_t *describe_status (const struct present *present, const char *backend, int64_t started_us)
{
    const struct cluster *cluster = present->cluster;
    int phases[JOB_PHASES] = {0}, slots = 0, used = 0;
    for (int i = 0; i < cluster->job_count; i++) {
        phases[cluster->jobs[i]->phase]++;
        used += placement_replicas (cluster->jobs[i]->placement);
    }
    for (int i = 0; i < cluster->node_count; i++)
        slots += cluster->nodes[i].slots;
    int nodes;
    int64_t most;
    count_nodes (cluster, &nodes, &most);
    /* Without live jobs no round is held, and next_round_us is in the past. */
    bool planned = present->next_round_us != INT64_MAX && present->next_round_us > present->now_us;
    json_t *jobs = json_object ();
    bool whole = jobs != NULL;
    for (int i = 0; whole && i < JOB_PHASES; i++)
        whole = put (jobs, job_phase_names[i], json_integer (phases[i]));
    json_t *object = json_pack (
        "{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:i, s:i, s:I, s:i, s:f, s:o}", "version",
        POLLUX_VERSION, "policy", present->round->policy, "p", describe_number (present->round->p),
        "interval_s", describe_number (present->round->interval_s), "restart_delay_s",
        describe_number (present->round->restart_delay_s), "backend", backend, "now_at",
        describe_time (present->now_us), "started_at", describe_time (started_us), "next_round_at",
        describe_time (planned ? present->next_round_us : -1), "nodes", nodes, "slots", slots,
        "most_slots", (json_int_t)most, "used_slots", used, "goodput", present->goodput, "jobs",
        jobs);
    whole =
        whole && object &&
        wire_policy_settings_put (object, "policy_options", &present->round->settings, NULL) == 0;
    return complete (object, whole);
}
