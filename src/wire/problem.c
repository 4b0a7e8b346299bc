/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode scheduling problems.  Everything is checked here, so that a policy can rely on its view.
 * The file's words "gpus" and "allocation" become slots and placement.
 */
#include "wire/problem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cluster/name_table.h"
#include "wire/job.h"
#include "wire/member.h"
#include "wire/policy_settings.h"
#include "wire/spec.h"

/* The problem and the names seen so far. */
struct reader {
    struct problem *problem;
    struct name_table node_names, job_names;
};

static const char *node_name (const void *nodes, int index)
{
    return ((const struct node *)nodes)[index].name;
}

static const char *job_name (const void *jobs, int index)
{
    return ((const struct job *)jobs)[index].spec.name;
}

/* ---- Optional fields: *ret does not change if the field is missing ---- */

static int optional_double (const struct wire_place *object, const char *key, double min,
                            double max, double *ret, struct pollux_error *err)
{
    return wire_has (object, key) ? wire_double (object, key, min, max, ret, err) : 0;
}

static int optional_int (const struct wire_place *object, const char *key, int min, int max,
                         int *ret, struct pollux_error *err)
{
    int64_t value = 0;
    if (!wire_has (object, key))
        return 0;
    int rc = wire_int64 (object, key, min, max, &value, err);
    *ret = rc == 0 ? (int)value : *ret;
    return rc;
}

static int optional_bool (const struct wire_place *object, const char *key, bool *ret,
                          struct pollux_error *err)
{
    return wire_has (object, key) ? wire_bool (object, key, ret, err) : 0;
}

/* ---- Nodes ---- */

static int read_node (struct reader *reader, const struct wire_place *place,
                      struct pollux_error *err)
{
    struct view *view = &reader->problem->view;
    struct node *node = &reader->problem->nodes[view->node_count];
    int64_t slots = 0;
    *node = (struct node){.available = true};
    int rc = wire_expect_object (place, err);
    if (rc == 0)
        rc = wire_name (place, "name", node->name, err);
    if (rc == 0)
        rc = wire_int64 (place, "gpus", 0, PROBLEM_SLOTS_LIMIT, &slots, err);
    if (rc == 0 && wire_has (place, "type"))
        rc = wire_name (place, "type", node->type, err);
    if (rc == 0)
        rc = optional_bool (place, "available", &node->available, err);
    if (rc < 0)
        return rc;
    node->slots = (int)slots;
    if (name_table_find (&reader->node_names, node->name, node_name, reader->problem->nodes) >= 0) {
        struct wire_place name = wire_field (place, "name");
        return wire_fail (&name, err, "expected a name that no other node has");
    }
    view->node_count++;
    name_table_add (&reader->node_names, node_name, reader->problem->nodes);
    return 0;
}

static int read_nodes (struct reader *reader, const struct wire_place *place,
                       struct pollux_error *err)
{
    struct problem *problem = reader->problem;
    size_t count;
    int rc = wire_count_elements (place, PROBLEM_NODES_LIMIT, "nodes", &count, err);
    if (rc < 0)
        return rc;
    problem->nodes = calloc (count + 1, sizeof (problem->nodes[0]));
    if (!problem->nodes ||
        name_table_reserve (&reader->node_names, (int)count, node_name, problem->nodes) < 0)
        return fail (err, -ENOMEM, "no memory for %zu nodes", count);
    problem->view.nodes = problem->nodes;
    int64_t slots = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct wire_place node = wire_element (place, i);
        rc = read_node (reader, &node, err);
        slots += problem->nodes[i].slots;
        if (rc == 0 && slots > PROBLEM_SLOTS_LIMIT)
            rc = wire_fail (&node, err, "expected at most %d GPUs in all", PROBLEM_SLOTS_LIMIT);
    }
    int beyond = rc == 0 ? node_beyond_types (problem->nodes, (int)count) : -1;
    if (beyond >= 0) {
        struct wire_place node = wire_element (place, (size_t)beyond),
                          type = wire_field (&node, "type");
        return wire_fail (&type, err, "expected at most %d types of nodes", NODE_TYPES_LIMIT);
    }
    return rc;
}

/* ---- Jobs ---- */

static int read_placement (struct reader *reader, const struct wire_place *job, struct job *ret,
                           struct pollux_error *err)
{
    struct wire_place place = wire_field (job, "allocation");
    if (!wire_has (job, "allocation"))
        return 0;
    int rc = wire_expect_object (&place, err);
    if (rc < 0)
        return rc;
    size_t size = json_object_size (place.value);
    struct share *shares = calloc (size + 1, sizeof (shares[0]));
    if (!shares)
        return fail (err, -ENOMEM, "no memory for the allocation of job %s", ret->spec.name);
    int count = 0;
    struct wire_place share;
    for (void *at = NULL; rc == 0 && wire_each (&place, &at, &share);) {
        int64_t replicas = 0;
        int node =
            name_table_find (&reader->node_names, share.key, node_name, reader->problem->nodes);
        if (node < 0)
            rc = wire_fail (&share, err, "expected the name of a node");
        else
            rc = wire_int64 (&place, share.key, 0, PROBLEM_SLOTS_LIMIT, &replicas, err);
        if (rc == 0 && replicas > 0)
            shares[count++] = (struct share){.node = node, .replicas = (int)replicas};
    }
    int64_t replicas = 0;
    for (int i = 0; i < count; i++)
        replicas += shares[i].replicas;
    if (rc == 0 && replicas > PROBLEM_SLOTS_LIMIT)
        rc = wire_fail (&place, err, "expected at most %d replicas", PROBLEM_SLOTS_LIMIT);
    if (rc == 0 && job_place (ret, (struct placement){shares, count}) < 0)
        rc = fail (err, -ENOMEM, "no memory for the allocation of job %s", ret->spec.name);
    free (shares);
    return rc;
}

/* Model, statistics and limits; with a model the other two are required. */
static int read_hints (const struct wire_place *place, struct hints *ret, struct pollux_error *err)
{
    struct wire_job known;
    int rc = wire_job_decode (place, &known, err);
    if (rc < 0)
        return rc;
    static const char *const needed[] = {"grad", "init_batch", "max_batch", "min_local",
                                         "max_local"};
    for (size_t i = 0; known.has_model && i < sizeof (needed) / sizeof (needed[0]); i++)
        if (!wire_has (place, needed[i])) {
            struct wire_place field = wire_field (place, needed[i]);
            return wire_fail (&field, err, "expected a value, because there is a model");
        }
    bool limited = known.limits.init_batch && known.limits.max_batch && known.limits.min_local &&
                   known.limits.max_local;
    *ret = hints_unknown;
    ret->has_model = known.has_model;
    ret->model = known.model;
    ret->grad = known.grad;
    ret->limits = limited ? known.limits : (struct pollux_limits){0};
    if (wire_has (place, "type"))
        rc = wire_name (place, "type", ret->type, err);
    if (rc == 0)
        rc = wire_other_models_decode (place, ret, err);
    if (rc == 0)
        rc = wire_hints_check (place, ret, err);
    if (rc == 0 && wire_has (place, "remaining")) {
        ret->progress = 0;
        rc = wire_double (place, "remaining", 0, MODEL_PROGRESS_LIMIT, &ret->total, err);
    }
    return rc;
}

static int read_spec (const struct wire_place *place, struct job_spec *ret,
                      struct pollux_error *err)
{
    int64_t most = 0;
    *ret = (struct job_spec){
        .weight = 1, .preemptible = true, .adaptive = true, .restart_delay_s = NAN};
    int rc = wire_name (place, "name", ret->name, err);
    if (rc == 0)
        rc = wire_int64 (place, "max_replicas", 1, POLLUX_REPLICAS_LIMIT, &most, err);
    if (rc == 0)
        rc = optional_int (place, "min_replicas", 0, (int)most, &ret->min_replicas, err);
    if (rc == 0)
        rc = optional_double (place, "weight", WIRE_WEIGHT_LEAST, WIRE_WEIGHT_LIMIT, &ret->weight,
                              err);
    if (rc == 0)
        rc = optional_bool (place, "preemptible", &ret->preemptible, err);
    if (rc == 0)
        rc = optional_double (place, "restart_delay", 0, MODEL_TIME_LIMIT, &ret->restart_delay_s,
                              err);
    struct wire_place allowed = wire_field (place, "allowed");
    if (rc == 0 && wire_has (place, "allowed"))
        rc = wire_allowed_decode (&allowed, &ret->allowed, err);
    struct wire_place types = wire_field (place, "types"), speeds = wire_field (place, "speeds");
    if (rc == 0 && wire_has (place, "types"))
        rc = wire_types_decode (&types, &ret->types, err);
    if (rc == 0 && wire_has (place, "speeds"))
        rc = wire_speeds_decode (&speeds, &ret->speeds, err);
    ret->max_replicas = (int)most;
    return rc;
}

static int read_job (struct reader *reader, const struct wire_place *place,
                     struct pollux_error *err)
{
    struct problem *problem = reader->problem;
    struct job *job = &problem->jobs[problem->view.job_count];
    int rc = wire_expect_object (place, err);
    if (rc == 0)
        rc = read_spec (place, &job->spec, err);
    if (rc == 0 &&
        name_table_find (&reader->job_names, job->spec.name, job_name, problem->jobs) >= 0) {
        struct wire_place name = wire_field (place, "name");
        rc = wire_fail (&name, err, "expected a name that no other job has");
    }
    if (rc == 0)
        rc = optional_double (place, "age", 0, MODEL_TIME_LIMIT, &job->age_s, err);
    if (rc == 0)
        rc = optional_int (place, "restarts", 0, 1000000000, &job->restarts, err);
    if (rc == 0)
        rc = read_hints (place, &job->hints, err);
    if (rc == 0)
        rc = read_placement (reader, place, job, err);
    if (rc < 0) {
        job_clear (job);
        return rc;
    }
    job->phase = job->placement.count > 0 ? JOB_RUNNING : JOB_PENDING;
    problem->order[problem->view.job_count++] = job;
    name_table_add (&reader->job_names, job_name, problem->jobs);
    return 0;
}

static int read_jobs (struct reader *reader, const struct wire_place *place,
                      struct pollux_error *err)
{
    struct problem *problem = reader->problem;
    size_t count;
    int rc = wire_count_elements (place, PROBLEM_JOBS_LIMIT, "jobs", &count, err);
    if (rc < 0)
        return rc;
    problem->jobs = calloc (count + 1, sizeof (problem->jobs[0]));
    problem->order = calloc (count + 1, sizeof (problem->order[0]));
    if (!problem->jobs || !problem->order ||
        name_table_reserve (&reader->job_names, (int)count, job_name, problem->jobs) < 0)
        return fail (err, -ENOMEM, "no memory for %zu jobs", count);
    problem->view.jobs = problem->order;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct wire_place job = wire_element (place, i);
        rc = read_job (reader, &job, err);
    }
    return rc;
}

/* Pinned jobs must fit on their nodes; this is the only way in which a problem can be infeasible. */
static int check_pinned (struct reader *reader, const struct wire_place *jobs,
                         struct pollux_error *err)
{
    const struct view *view = &reader->problem->view;
    int *free_slots = calloc ((size_t)view->node_count + 1, sizeof (free_slots[0]));
    if (!free_slots)
        return fail (err, -ENOMEM, "no memory for %d nodes", view->node_count);
    for (int i = 0; i < view->node_count; i++)
        free_slots[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
    int rc = 0;
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        const struct job *job = view->jobs[i];
        for (int j = 0; j < job->placement.count && job_pinned (job) && rc == 0; j++) {
            struct share share = job->placement.shares[j];
            struct wire_place place = wire_element (jobs, (size_t)i);
            struct wire_place placement = wire_field (&place, "allocation");
            struct wire_place count = wire_field (&placement, view->nodes[share.node].name);
            if (share.replicas > free_slots[share.node])
                rc = wire_fail (&count, err,
                                "infeasible: job %s is not preemptible, but only %d GPUs of this "
                                "node are free for it; expected at most %d replicas",
                                job->spec.name, free_slots[share.node], free_slots[share.node]);
            free_slots[share.node] -= share.replicas;
        }
    }
    free (free_slots);
    return rc;
}

/* ---- The whole ---- */

static int read_root (struct reader *reader, const struct wire_place *root,
                      struct pollux_error *err)
{
    struct view *view = &reader->problem->view;
    struct wire_place nodes = wire_field (root, "nodes"), jobs = wire_field (root, "jobs");
    *view = (struct view){.interval_s = 60, .restart_delay_s = 30, .p = -1, .search = POLLUX_EXACT};
    int version = PROBLEM_VERSION, rc = wire_expect_object (root, err);
    if (rc == 0 && wire_has (root, "version"))
        rc = wire_version (root, PROBLEM_VERSION, PROBLEM_VERSION, &version, err);
    if (rc == 0 && wire_has (root, "p"))
        rc = wire_number (root, "p", -INFINITY, 1, &view->p, err);
    if (rc == 0)
        rc = wire_policy_settings_decode (root, "policy_options", &view->settings, err);
    if (rc == 0)
        rc = optional_double (root, "restart_delay", 0, MODEL_TIME_LIMIT, &view->restart_delay_s,
                              err);
    int search = POLLUX_EXACT;
    if (rc == 0 && wire_has (root, "batch_search"))
        rc = wire_choice (root, "batch_search", wire_search_names, POLLUX_REFERENCE + 1, &search,
                          err);
    view->search = (enum pollux_search)search;
    if (rc == 0)
        rc = read_nodes (reader, &nodes, err);
    if (rc == 0)
        rc = read_jobs (reader, &jobs, err);
    if (rc == 0)
        rc = check_pinned (reader, &jobs, err);
    return rc;
}

static int problem_decode (const struct wire_document *document, struct problem **ret,
                           struct pollux_error *err)
{
    struct wire_place root = wire_root (document);
    struct reader reader = {.problem = calloc (1, sizeof (struct problem))};
    if (!reader.problem)
        return fail (err, -ENOMEM, "no memory for a problem");
    int rc = read_root (&reader, &root, err);
    name_table_clear (&reader.node_names);
    name_table_clear (&reader.job_names);
    if (rc < 0)
        problem_free (reader.problem);
    else
        *ret = reader.problem;
    return rc;
}

int problem_read (const char *path, struct problem **ret, struct pollux_error *err)
{
    struct wire_document *document;
    int rc = wire_document_read (path, PROBLEM_LIMIT, &document, err);
    if (rc < 0)
        return rc;
    rc = problem_decode (document, ret, err);
    wire_document_free (document);
    return rc;
}

int problem_parse (const char *name, const char *text, size_t length, struct problem **ret,
                   struct pollux_error *err)
{
    struct wire_document *document;
    int rc = wire_document_parse (name, text, length, PROBLEM_LIMIT, &document, err);
    if (rc < 0)
        return rc;
    rc = problem_decode (document, ret, err);
    wire_document_free (document);
    return rc;
}

void problem_free (struct problem *problem)
{
    if (!problem)
        return;
    for (int i = 0; i < problem->view.job_count; i++)
        job_clear (&problem->jobs[i]);
    free (problem->nodes);
    free (problem->jobs);
    free (problem->order);
    free (problem);
}
