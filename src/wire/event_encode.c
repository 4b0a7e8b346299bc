/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode events as rows of a journal.  Indices become names.  A number outside of the range that the
 * decoder accepts is refused, so that every journal that is written can be read.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "wire/event.h"
#include "wire/event_format.h"
#include "wire/job.h"
#include "wire/launch.h"
#include "wire/node_groups.h"
#include "wire/policy_settings.h"
#include "wire/spec.h"

/* Add an empty object to an object; NULL: no memory. */
static json_t *put_object (json_t *object, const char *key, struct pollux_error *err)
{
    json_t *inner = json_object ();
    return wire_put (object, key, inner, err) == 0 ? inner : NULL;
}

/* ---- Submissions and hints ---------------------------------------------------------------- */

static int put_oracle (const struct oracle *oracle, json_t *body, struct pollux_error *err)
{
    json_t *object = put_object (body, "oracle", err), *times = json_array ();
    int code = object ? wire_put (object, "iter_s", times, err) : -ENOMEM;
    if (!object)
        json_decref (times);
    for (int i = 0; code == 0 && i < oracle->count; i++) {
        double time_s = oracle->iter_s[i];
        if (!(time_s >= 0 && time_s <= MODEL_TIME_LIMIT))
            code = fail (err, -EINVAL, "oracle.iter_s[%d]: expected a number from 0 to %g, got %g",
                         i, MODEL_TIME_LIMIT, time_s);
        else if (json_array_append_new (times, json_real (time_s)) < 0)
            code = fail (err, -ENOMEM, "oracle: not enough memory");
    }
    return code < 0 ? code : wire_members_encode (wire_oracle_members, oracle, object, err);
}

static int put_submit (const struct event *event, json_t *body, struct pollux_error *err)
{
    int code = wire_spec_put (event->submit.spec, body, err);
    json_t *hints = code == 0 ? put_object (body, "hints", err) : NULL;
    if (!hints)
        return code < 0 ? code : -ENOMEM;
    code = wire_hints_put (&event->submit.hints, hints, err);
    if (code == 0 && event->submit.oracle)
        code = put_oracle (event->submit.oracle, body, err);
    if (code < 0 || !event->submit.launch)
        return code;
    json_t *launch = put_object (body, "launch", err);
    return launch ? wire_launch_put (event->submit.launch, launch, err) : -ENOMEM;
}

static int put_report (const struct report *report, const char *name, json_t *fields,
                       struct pollux_error *err)
{
    json_t *object = put_object (fields, name, err);
    int code = object ? wire_hints_put (&report->hints, object, err) : -ENOMEM;
    if (code == 0)
        code = wire_members_encode (wire_batch_members, report, object, err);
    return code < 0 ? code : wire_members_encode (wire_report_members, report, object, err);
}

static int encode_report (const struct cluster *cluster, const struct report *report, bool *seen,
                          struct wire_text_buffer *buffer, struct pollux_error *err)
{
    if (report->job < 0 || report->job >= cluster->job_count)
        return fail (err, -EINVAL, "job %d: there are %d jobs", report->job, cluster->job_count);
    if (seen[report->job])
        return fail (err, -EINVAL, "two reports of one job");
    seen[report->job] = true;
    const char *name = cluster->jobs[report->job]->spec.name;
    struct pollux_error why = {"not enough memory"};
    json_t *fields = json_object ();
    int code = put_report (report, name, fields, &why);
    if (code == 0)
        code = wire_text_add (fields, WIRE_EVENT_LIMIT - 1, buffer, &why);
    json_decref (fields);
    return code < 0 ? fail (err, code, "job %s: %.160s", name, why.text) : 0;
}

/* One report at a time, to save memory: there may be 2^16 of them. */
static int encode_hints (const struct cluster *cluster, const struct event *event,
                         struct wire_text_buffer *buffer, struct pollux_error *err)
{
    bool *seen = calloc ((size_t)cluster->job_count + 1, sizeof (seen[0]));
    int code = seen ? wire_text_begin (buffer, err) : -ENOMEM;
    for (int i = 0; code == 0 && i < event->hints.count; i++)
        code = encode_report (cluster, &event->hints.reports[i], seen, buffer, err);
    free (seen);
    return code < 0 ? code : wire_text_end (buffer, err);
}

/* ---- Plans -------------------------------------------------------------------------------- */

static int put_placements (const struct cluster *cluster, const struct plan *plan, json_t *body,
                           struct pollux_error *err)
{
    json_t *object = put_object (body, "placements", err);
    int code = object ? 0 : -ENOMEM;
    for (int i = 0; code == 0 && i < plan->job_count; i++) {
        struct placement placement = plan_placement (plan, i);
        if (placement.count > 0)
            code = wire_placement_put (cluster, placement, object,
                                       cluster->active.jobs[i]->spec.name, err);
    }
    return code;
}

/* Written only if the policy computes any. */
static int put_speedups (const struct cluster *cluster, const struct plan *plan, json_t *body,
                         struct pollux_error *err)
{
    json_t *object = NULL;
    int code = 0;
    for (int i = 0; code == 0 && i < plan->job_count; i++) {
        if (isnan (plan->speedups[i]))
            continue;
        if (!object && !(object = put_object (body, "speedups", err)))
            return -ENOMEM;
        code = wire_put (object, cluster->active.jobs[i]->spec.name,
                         wire_number_encode (plan->speedups[i]), err);
    }
    return code;
}

static int put_plan (const struct cluster *cluster, const struct plan *plan, json_t *body,
                     struct pollux_error *err)
{
    if (plan->job_count != cluster->active.count)
        return fail (err, -EINVAL, "%d jobs, but %d are active", plan->job_count,
                     cluster->active.count);
    int code = put_placements (cluster, plan, body, err);
    if (code == 0)
        code = put_speedups (cluster, plan, body, err);
    return code < 0 ? code : wire_members_encode (wire_plan_members, plan, body, err);
}

/* ---- Groups of nodes ---------------------------------------------------------------------- */

/* Written only if the size changes. */
static int put_sizes (const struct cluster *cluster, const struct event *event, json_t *body,
                      struct pollux_error *err)
{
    if (!event->size.resize)
        return event->size.reason[0]
                   ? fail (err, -EINVAL, "reason: expected none without a change of size")
                   : 0;
    json_t *nodes = put_object (body, "nodes", err);
    int code = nodes ? 0 : -ENOMEM;
    for (int i = 0; code == 0 && i < cluster->power.count; i++) {
        const char *group = cluster->power.groups[i].name;
        int count = event->size.nodes[i];
        if (count < 0 || count > NODES_LIMIT)
            code = fail (err, -EINVAL, "nodes.%s: expected a number from 0 to %d, got %d", group,
                         NODES_LIMIT, count);
        else
            code = wire_put (nodes, group, json_integer (count), err);
    }
    return code;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static int put_round (const struct event *event, json_t *body, struct pollux_error *err)
{
    struct event round = *event;
    if (!round.round.software[0])
        snprintf (round.round.software, sizeof (round.round.software), "%s", POLLUX_VERSION);
    int code = wire_members_encode (wire_formats[EVENT_ROUND].members, &round, body, err);
    return code < 0 ? code
                    : wire_policy_settings_put (body, "policy_options", &round.round.settings, err);
}

static int put_body (const struct cluster *cluster, const struct event *event, json_t *body,
                     struct pollux_error *err)
{
    if (event->type == EVENT_ROUND)
        return put_round (event, body, err);
    int code = wire_members_encode (wire_formats[event->type].members, event, body, err);
    if (code < 0)
        return code;
    switch (event->type) {
    case EVENT_SUBMIT:
        return put_submit (event, body, err);
    case EVENT_PLAN:
        return put_plan (cluster, event->plan, body, err);
    case EVENT_START:
        return wire_placement_put (cluster, event->start.placement, body, "placement", err);
    case EVENT_GROUPS:
        return wire_goal_groups_put (&event->groups.goal, event->groups.list, event->groups.count,
                                     body, err);
    case EVENT_SIZE:
        return put_sizes (cluster, event, body, err);
    default:
        return 0;
    }
}

/* The name of the job for the row; NULL for an event without a job. */
static int find_job_name (const struct cluster *cluster, const struct event *event,
                          const char **ret, struct pollux_error *err)
{
    *ret = NULL;
    if (!wire_formats[event->type].has_job)
        return 0;
    bool submit = event->type == EVENT_SUBMIT;
    if (!submit && (event->job < 0 || event->job >= cluster->job_count))
        return fail (err, -EINVAL, "job %d: there are %d jobs", event->job, cluster->job_count);
    *ret = submit ? event->submit.spec->name : cluster->jobs[event->job]->spec.name;
    if (!wire_is_name (*ret))
        return fail (err, -EINVAL,
                     "a job's name: expected 1 to %d bytes without control "
                     "characters",
                     NAME_SIZE - 1);
    return 0;
}

static int encode_body (const struct cluster *cluster, const struct event *event,
                        struct wire_text_buffer *buffer, struct pollux_error *err)
{
    if (event->type == EVENT_HINTS)
        return encode_hints (cluster, event, buffer, err);
    json_t *body = json_object ();
    int code = body ? put_body (cluster, event, body, err) : -ENOMEM;
    if (code == 0)
        code = wire_text_dump (body, WIRE_EVENT_LIMIT, buffer, err);
    json_decref (body);
    return code;
}

int wire_event_encode (const struct cluster *cluster, const struct event *event,
                       struct wire_text_buffer *buffer, struct wire_row *ret,
                       struct pollux_error *err)
{
    const char *type = event_names[event->type], *job;
    struct pollux_error why = {""};
    int code = find_job_name (cluster, event, &job, &why);
    if (code == 0 && event->at_us < 0)
        code = fail (&why, -EINVAL, "at %lld us: expected a time of at least 0",
                     (long long)event->at_us);
    if (code == 0)
        code = encode_body (cluster, event, buffer, &why);
    if (code < 0)
        return fail (err, code, "%s: %.200s", type, why.text[0] ? why.text : "not enough memory");
    *ret = (struct wire_row){.at_us = event->at_us,
                             .type = type,
                             .job = job,
                             .body = buffer->text,
                             .length = buffer->length};
    return 0;
}
