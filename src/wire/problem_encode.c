/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode scheduling problems.  Slots and placement are written as the file's words "gpus" and
 * "allocation".  jansson's functions fail on NULL, so that one check at the end is enough.
 */
#include <math.h>

#include "wire/job.h"
#include "wire/policy_settings.h"
#include "wire/problem.h"
#include "wire/spec.h"

static json_t *encode_placement (const struct view *view, struct placement placement)
{
    json_t *object = json_object ();
    for (int i = 0; i < placement.count; i++)
        json_object_set_new (object, view->nodes[placement.shares[i].node].name,
                             json_integer (placement.shares[i].replicas));
    return object;
}

static json_t *encode_job (const struct view *view, const struct job *job)
{
    const struct job_spec *spec = &job->spec;
    int most = job_trusted_replicas (job); /* 0 if no count is allowed at all */
    most = most > 0 ? most : spec->max_replicas;
    const struct wire_job known = {.has_model = job->hints.has_model,
                                   .has_grad = job->hints.has_model,
                                   .model = job->hints.model,
                                   .grad = job->hints.grad,
                                   .limits = job->hints.limits};
    json_t *object =
        json_pack ("{s:s, s:f, s:i, s:i, s:i, s:f, s:b, s:o}", "name", spec->name, "age",
                   job->age_s, "restarts", job->restarts, "min_replicas", spec->min_replicas,
                   "max_replicas", most, "weight", spec->weight, "preemptible", spec->preemptible,
                   "allocation", encode_placement (view, job->placement));
    json_t *hints = wire_job_encode (&known);
    int failed = !object || !hints || wire_allowed_put (&spec->allowed, object, NULL) < 0 ||
                 wire_types_put (&spec->types, object, NULL) < 0 ||
                 wire_speeds_put (&spec->speeds, object, NULL) < 0 ||
                 wire_other_models_put (&job->hints, object, NULL) < 0;
    if (job->hints.type[0])
        failed |= json_object_set_new (object, "type", json_string (job->hints.type));
    if (!isnan (spec->restart_delay_s))
        failed |= json_object_set_new (object, "restart_delay", json_real (spec->restart_delay_s));
    if (!isnan (job_remaining (job)))
        failed |= json_object_set_new (object, "remaining", json_real (job_remaining (job)));
    if (!known.has_model)
        failed |= json_object_set_new (object, "model", json_null ());
    failed |= json_object_update (object, hints);
    json_decref (hints);
    if (!failed)
        return object;
    json_decref (object);
    return NULL;
}

json_t *problem_encode (const struct view *view)
{
    json_t *nodes = json_array (), *jobs = json_array ();
    int failed = !nodes || !jobs;
    for (int i = 0; i < view->node_count && !failed; i++) {
        const struct node *node = &view->nodes[i];
        json_t *object = json_pack ("{s:s, s:i, s:b}", "name", node->name, "gpus", node->slots,
                                    "available", node->available);
        if (object && node->type[0])
            failed |= json_object_set_new (object, "type", json_string (node->type));
        failed |= json_array_append_new (nodes, object);
    }
    for (int i = 0; i < view->job_count && !failed; i++)
        failed |= json_array_append_new (jobs, encode_job (view, view->jobs[i]));
    json_t *root =
        failed ? NULL
               : json_pack ("{s:O, s:o, s:f, s:s, s:O}", "nodes", nodes, "p",
                            wire_number_encode (view->p), "restart_delay", view->restart_delay_s,
                            "batch_search", wire_search_names[view->search], "jobs", jobs);
    json_decref (nodes);
    json_decref (jobs);
    if (root && wire_policy_settings_put (root, "policy_options", &view->settings, NULL) < 0) {
        json_decref (root);
        return NULL;
    }
    return root;
}
