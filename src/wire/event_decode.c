/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode rows of a journal into events.  Names become indices; struct wire_event holds the memory
 * that an event points to.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/utf8.h"
#include "wire/event.h"
#include "wire/event_format.h"
#include "wire/job.h"
#include "wire/launch.h"
#include "wire/node_groups.h"
#include "wire/policy_settings.h"
#include "wire/spec.h"

void wire_event_clear (struct wire_event *event)
{
    free (event->iter_s);
    launch_free (event->launch);
    free (event->reports);
    plan_clear (&event->plan);
    free (event->shares.shares);
    *event = (struct wire_event){0};
}

/* Make room for count elements of `size` bytes. */
static int reserve (void **array, int *capacity, size_t count, size_t size,
                    struct pollux_error *err)
{
    if (count <= (size_t)*capacity)
        return 0;
    void *bigger = realloc (*array, count * size);
    if (!bigger)
        return fail (err, -ENOMEM, "not enough memory for %zu elements of an event", count);
    *array = bigger;
    *capacity = (int)count;
    return 0;
}

/* ---- Submissions and hints ---------------------------------------------------------------- */

static int decode_times (const struct wire_place *times, struct wire_event *ret,
                         struct pollux_error *err)
{
    size_t count = 0;
    int code = wire_count_elements (times, POLLUX_REPLICAS_LIMIT, "times", &count, err);
    void *array = ret->iter_s;
    if (code == 0)
        code = reserve (&array, &ret->iter_capacity, count, sizeof (ret->iter_s[0]), err);
    ret->iter_s = array;
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place time = wire_element (times, i);
        double time_s = json_number_value (time.value);
        if (!json_is_number (time.value) || !(time_s >= 0 && time_s <= MODEL_TIME_LIMIT))
            code = wire_fail (&time, err, "expected a number from 0 to %g", MODEL_TIME_LIMIT);
        ret->iter_s[i] = time_s;
    }
    ret->oracle.iter_s = ret->iter_s;
    ret->oracle.count = (int)count;
    return code;
}

static int decode_launch (const struct wire_place *body, struct wire_event *ret,
                          struct pollux_error *err)
{
    struct wire_place place = wire_field (body, "launch");
    struct launch *launch = NULL;
    int code = wire_launch_decode (&place, &launch, err);
    if (code < 0)
        return code;
    launch_free (ret->launch);
    ret->event.submit.launch = ret->launch = launch;
    return 0;
}

static int decode_submit (const struct wire_place *body, struct wire_event *ret,
                          struct pollux_error *err)
{
    struct event *event = &ret->event;
    event->submit.spec = &ret->spec;
    struct wire_place hints = wire_field (body, "hints"), oracle = wire_field (body, "oracle");
    int code = wire_spec_decode (body, &ret->spec, err);
    if (code == 0)
        code = wire_hints_decode (&hints, &event->submit.hints, err);
    if (code == 0 && wire_has (body, "launch"))
        code = decode_launch (body, ret, err);
    if (code < 0 || !wire_has (body, "oracle"))
        return code;
    struct wire_place times = wire_field (&oracle, "iter_s");
    code = wire_members_decode (wire_oracle_members, &oracle, &ret->oracle, err);
    event->submit.oracle = &ret->oracle;
    return code < 0 ? code : decode_times (&times, ret, err);
}

/* The index of the job that a key names.  -EINVAL: unknown. */
static int find_job (const struct cluster *cluster, const struct wire_place *place, int *ret,
                     struct pollux_error *err)
{
    *ret = cluster_find_job (cluster, place->key);
    return *ret >= 0 ? 0 : wire_fail (place, err, "expected the name of a job");
}

static int decode_hints (const struct cluster *cluster, const struct wire_place *body,
                         struct wire_event *ret, struct pollux_error *err)
{
    void *array = ret->reports;
    int code = reserve (&array, &ret->report_capacity, json_object_size (body->value),
                        sizeof (ret->reports[0]), err);
    ret->reports = array;
    int count = 0;
    struct wire_place place;
    for (void *at = NULL; code == 0 && wire_each (body, &at, &place);) {
        struct report *report = &ret->reports[count++];
        *report = (struct report){0};
        code = find_job (cluster, &place, &report->job, err);
        if (code == 0)
            code = wire_hints_decode (&place, &report->hints, err);
        if (code == 0)
            code = wire_members_decode (wire_batch_members, &place, report, err);
        if (code == 0)
            code = wire_members_decode (wire_report_members, &place, report, err);
    }
    ret->event.hints.reports = ret->reports;
    ret->event.hints.count = count;
    return code;
}

/* ---- Plans -------------------------------------------------------------------------------- */

/* The index in cluster->active of the job that a key names. */
static int find_active (const struct cluster *cluster, const struct wire_place *place, int *ret,
                        struct pollux_error *err)
{
    int job, low = 0, high = cluster->active.count;
    int code = find_job (cluster, place, &job, err);
    if (code < 0)
        return code;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (cluster->active.indices[middle] < job)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == cluster->active.count || cluster->active.indices[low] != job)
        return wire_fail (place, err, "expected a job that has not ended");
    *ret = low;
    return 0;
}

static int decode_placements (const struct cluster *cluster, const struct wire_place *placements,
                              struct wire_event *ret, struct pollux_error *err)
{
    int code = wire_expect_object (placements, err), job = 0;
    struct wire_place place;
    for (void *at = NULL; code == 0 && wire_each (placements, &at, &place);) {
        struct placement placement = {0};
        code = find_active (cluster, &place, &job, err);
        if (code == 0)
            code = wire_placement_decode (&place, cluster, &ret->shares, &placement, err);
        if (code == 0 && plan_place (&ret->plan, job, placement) < 0)
            code = fail (err, -ENOMEM, "not enough memory for a plan");
    }
    return code;
}

static int decode_plan (const struct cluster *cluster, const struct wire_place *body,
                        struct wire_event *ret, struct pollux_error *err)
{
    if (plan_reset (&ret->plan, cluster->active.count) < 0)
        return fail (err, -ENOMEM, "not enough memory for a plan");
    ret->event.plan = &ret->plan;
    struct wire_place placements = wire_field (body, "placements");
    struct wire_place speedups = wire_field (body, "speedups"), place;
    int code = decode_placements (cluster, &placements, ret, err), job = 0;
    if (code == 0 && wire_has (body, "speedups"))
        code = wire_expect_object (&speedups, err);
    for (void *at = NULL; code == 0 && wire_each (&speedups, &at, &place);) {
        code = find_active (cluster, &place, &job, err);
        if (code == 0)
            code = wire_number (&speedups, place.key, -INFINITY, INFINITY, &ret->plan.speedups[job],
                                err);
    }
    return code < 0 ? code : wire_members_decode (wire_plan_members, body, &ret->plan, err);
}

/* ---- Groups of nodes ---------------------------------------------------------------------- */

static int decode_groups (const struct wire_place *body, struct wire_event *ret,
                          struct pollux_error *err)
{
    ret->event.groups.list = ret->groups;
    return wire_goal_groups_decode (body, &ret->event.groups.goal, ret->groups,
                                    &ret->event.groups.count, err);
}

/* Every group of the cluster has a number. */
static int decode_sizes (const struct cluster *cluster, const struct wire_place *body,
                         struct event *event, struct pollux_error *err)
{
    struct wire_place nodes = wire_field (body, "nodes"), place;
    const struct power *power = &cluster->power;
    event->size.resize = wire_has (body, "nodes");
    if (!event->size.resize)
        return event->size.reason[0] ? wire_fail (&nodes, err, "expected it beside the reason") : 0;
    int code = wire_expect_object (&nodes, err);
    for (void *at = NULL; code == 0 && wire_each (&nodes, &at, &place);)
        if (node_groups_find (power->groups, power->count, place.key) < 0)
            code = wire_fail (&place, err, "expected the name of a group");
    for (int i = 0; code == 0 && i < power->count; i++) {
        int64_t count = 0;
        code = wire_int64 (&nodes, power->groups[i].name, 0, NODES_LIMIT, &count, err);
        event->size.nodes[i] = (int)count;
    }
    return code;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static int decode_body (const struct cluster *cluster, const struct wire_place *body,
                        struct wire_event *ret, struct pollux_error *err)
{
    struct event *event = &ret->event;
    int code = wire_members_decode (wire_formats[event->type].members, body, event, err);
    if (code < 0)
        return code;
    struct wire_place placement = wire_field (body, "placement");
    switch (event->type) {
    case EVENT_SUBMIT:
        return decode_submit (body, ret, err);
    case EVENT_HINTS:
        return decode_hints (cluster, body, ret, err);
    case EVENT_ROUND:
        return wire_policy_settings_decode (body, "policy_options", &event->round.settings, err);
    case EVENT_PLAN:
        return decode_plan (cluster, body, ret, err);
    case EVENT_START:
        return wire_placement_decode (&placement, cluster, &ret->shares, &event->start.placement,
                                      err);
    case EVENT_GROUPS:
        return decode_groups (body, ret, err);
    case EVENT_SIZE:
        return decode_sizes (cluster, body, event, err);
    default:
        return 0;
    }
}

/* Quote a text of any content in a message. */
static struct excerpt quoted (const char *text)
{
    size_t length = strnlen (text, NAME_SIZE);
    if (utf8_valid (text, length) != length || !wire_is_name (text))
        return (struct excerpt){.text = "a text that is not a name"};
    return excerpt (text, length);
}

static int decode_type (const struct wire_row *row, const char *name, enum event_type *ret,
                        struct pollux_error *err)
{
    for (int i = 0; i < EVENT_TYPES; i++) {
        if (strcmp (row->type, event_names[i]) == 0) {
            *ret = (enum event_type)i;
            return 0;
        }
    }
    return fail (err, -EINVAL,
                 "%s: the type is %s, which this version does not know; a newer one may",
                 file_name (name).text, quoted (row->type).text);
}

static int decode_job (const struct cluster *cluster, const struct wire_row *row, const char *name,
                       struct wire_event *ret, struct pollux_error *err)
{
    enum event_type type = ret->event.type;
    struct file_name file = file_name (name);
    ret->event.job = -1;
    if (!wire_formats[type].has_job)
        return !row->job ? 0
                         : fail (err, -EINVAL, "%s: %s of job %s: expected no job", file.text,
                                 event_names[type], quoted (row->job).text);
    if (!row->job || !wire_is_name (row->job))
        return fail (err, -EINVAL, "%s: %s: expected the name of a job, got %s", file.text,
                     event_names[type], row->job ? quoted (row->job).text : "nothing");
    ret->event.job =
        type == EVENT_SUBMIT ? cluster->job_count : cluster_find_job (cluster, row->job);
    if (ret->event.job < 0)
        return fail (err, -EINVAL, "%s: %s of job %s, which is not known", file.text,
                     event_names[type], quoted (row->job).text);
    ret->spec = (struct job_spec){0};
    memcpy (ret->spec.name, row->job, strlen (row->job));
    return 0;
}

int wire_event_decode (const struct cluster *cluster, const struct wire_row *row, const char *name,
                       struct wire_event *ret, struct pollux_error *err)
{
    ret->event = (struct event){.at_us = row->at_us};
    int code = decode_type (row, name, &ret->event.type, err);
    if (code == 0 && row->at_us < 0)
        code = fail (err, -EINVAL, "%s: at %lld us: expected a time of at least 0",
                     file_name (name).text, (long long)row->at_us);
    if (code == 0)
        code = decode_job (cluster, row, name, ret, err);
    struct wire_document *document = NULL;
    if (code == 0)
        code = wire_document_parse (name, row->body, row->length, WIRE_EVENT_LIMIT, &document, err);
    if (code == 0) {
        struct wire_place body = wire_root (document);
        code = decode_body (cluster, &body, ret, err);
    }
    wire_document_free (document);
    return code;
}
