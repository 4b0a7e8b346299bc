/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about existing jobs: list, show, cancel, limits, explain.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "api/api_private.h"
#include "api/explain_json.h"
#include "loop/job_rates.h"
#include "wire/document.h"
#include "wire/json.h"
#include "wire/keys.h"
#include "wire/spec.h"

/* ---- Lists -------------------------------------------------------------------------------- */

enum { LIST_MOST = 1000, LAST_LINES = 20 };

/* Which jobs to list. */
struct filter {
    bool phases[JOB_PHASES];
    const char *owner;      /* NULL: all */
    int64_t ended_after_us; /* ended jobs: only those that ended at this time or later */
};

/* "running,pending" or "live"; NULL: all. */
static int parse_phases (const char *text, bool ret[JOB_PHASES], struct pollux_error *err)
{
    for (int i = 0; i < JOB_PHASES; i++)
        ret[i] = !text;
    for (bool more = text; more;) {
        size_t length = strcspn (text, ",");
        bool known = length == 4 && strncmp (text, "live", 4) == 0;
        if (known)
            ret[JOB_PENDING] = ret[JOB_RUNNING] = ret[JOB_CANCELLING] = true;
        for (int i = 0; i < JOB_PHASES; i++)
            if (strlen (job_phase_names[i]) == length &&
                strncmp (text, job_phase_names[i], length) == 0)
                known = ret[i] = true;
        if (!known)
            return fail (err, -EINVAL,
                         "phase: expected live, pending, running, cancelling, finished, failed or "
                         "cancelled, got \"%.*s\"",
                         length < 40 ? (int)length : 40, text);
        more = text[length] == ',';
        text += length + more;
    }
    return 0;
}

static bool matches (const struct filter *filter, const struct job *job)
{
    if (!filter->phases[job->phase] || (!job_live (job) && job->end_us < filter->ended_after_us))
        return false;
    return !filter->owner || (job->launch && strcmp (job->launch->owner, filter->owner) == 0);
}

/* The next job that matches, from an index on; -1: none. */
static int next_match (const struct cluster *cluster, const struct filter *filter, int from)
{
    for (int i = from; i < cluster->job_count; i++)
        if (matches (filter, cluster->jobs[i]))
            return i;
    return -1;
}

/* Write one job at a time: one JSON tree of 1000 jobs takes twice as long. */
static bool write_job (FILE *file, const struct present *present, int index)
{
    json_t *job = describe_job (present, index);
    bool written = job && json_dumpf (job, file, API_JSON) == 0;
    json_decref (job);
    return written;
}

static bool write_page (FILE *file, const struct present *present, const struct filter *filter,
                        int from, int64_t limit)
{
    const struct cluster *cluster = present->cluster;
    int at = next_match (cluster, filter, from), last = -1;
    bool written = fputs ("{\"jobs\":[", file) >= 0;
    for (int64_t count = 0; written && at >= 0 && count < limit; count++) {
        written = (count == 0 || fputc (',', file) >= 0) && write_job (file, present, at);
        last = at;
        at = next_match (cluster, filter, at + 1);
    }
    json_t *next =
        at >= 0 && last >= 0 ? json_string (cluster->jobs[last]->spec.name) : json_null ();
    written = written && fputs ("],\"next\":", file) >= 0 && next &&
              json_dumpf (next, file, JSON_COMPACT | JSON_ENCODE_ANY) == 0 &&
              fputc ('}', file) >= 0;
    json_decref (next);
    return written;
}

/* The answer, from malloc; NULL: no memory. */
static char *page_text (const struct present *present, const struct filter *filter, int from,
                        int64_t limit, size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream (&text, &length);
    if (!file)
        return NULL;
    bool written = write_page (file, present, filter, from, limit);
    if (fclose (file) != 0 || !written) {
        free (text);
        return NULL;
    }
    *ret_length = length;
    return text;
}

void api_list_jobs (struct api *api, struct http_request *request)
{
    struct filter filter = {.owner = http_query (request, "owner")};
    struct pollux_error err;
    int64_t limit = 100, ended_after = 0;
    if (parse_phases (http_query (request, "phase"), filter.phases, &err) < 0) {
        api_refuse (api, request, 400, "%s", err.text);
        return;
    }
    if (api_query_int (api, request, "limit", 1, LIST_MOST, &limit) < 0 ||
        api_query_int (api, request, "ended_after", 0, INT64_MAX / 1000000, &ended_after) < 0)
        return;
    filter.ended_after_us = ended_after * 1000000;
    const char *after = http_query (request, "after");
    int from = after ? cluster_find_job (api->options.cluster, after) + 1 : 0;
    if (after && from == 0) {
        api_refuse (api, request, 400, "after: there is no job %s", after);
        return;
    }
    struct present present = api_present (api);
    size_t length = 1;
    char *text = page_text (&present, &filter, from, limit, &length);
    api->status = text ? 200 : 503;
    http_answer (request, 200, "application/json", text, length);
}

/* ---- One job ------------------------------------------------------------------------------ */

/* The warning that goes with how the last generation ended. */
static json_t *describe_warning (const struct job *job)
{
    static const char lost[] = "work since the last checkpoint is lost";
    return strstr (job->detail, lost) ? json_string (lost) : json_null ();
}

/* Replace a job's own checkpoint directory by the one that the backend has for it, if it knows one. */
static bool put_checkpoint_dir (const struct api *api, const struct job *job, json_t *object)
{
    const struct api_options *options = &api->options;
    char *path = options->checkpoint_dir ? options->checkpoint_dir (options->self, job) : NULL;
    json_t *text = path ? json_string (path) : NULL; /* NULL: the path is not UTF-8 */
    free (path);
    return !text || json_object_set_new (object, "checkpoint_dir", text) == 0;
}

void api_show_job (struct api *api, struct http_request *request)
{
    int index = api_job (api, request);
    if (index < 0)
        return;
    const struct job *job = api->options.cluster->jobs[index];
    bool owns = api_owns (request, job);
    struct present present = api_present (api);
    json_t *object = describe_job_fully (&present, index, owns);
    /* Logs may contain secrets, so they have the same rule as the environment. */
    json_t *lines =
        owns && job->failures > 0 ? api_last_lines (api, job, LAST_LINES) : json_null ();
    if (object && (json_object_set_new (object, "last_lines", lines) < 0 ||
                   json_object_set_new (object, "exit_code", api_exit_code (api, job)) < 0 ||
                   json_object_set_new (object, "warning", describe_warning (job)) < 0 ||
                   !put_checkpoint_dir (api, job, object))) {
        json_decref (object);
        object = NULL;
    }
    api_reply (api, request, 200, object);
}

/* Post an event about a job, and answer with the job's new state. */
static void post_and_show (struct api *api, struct http_request *request, struct event *event,
                           int status)
{
    struct pollux_error err;
    int rc = api->options.post (api->options.self, event, &err);
    if (rc < 0) {
        api_refuse_event (api, request, rc, &err);
        return;
    }
    struct present present = api_present (api);
    api_reply (api, request, status, describe_job (&present, event->job));
}

/* Is the job live?  If not, answer 409. */
static bool expect_live (struct api *api, struct http_request *request, const struct job *job)
{
    if (job_live (job))
        return true;
    api_refuse (api, request, 409, "job %s has ended already (%s)", job->spec.name,
                job_phase_names[job->phase]);
    return false;
}

/* The live job that the path names and that the client owns; -1 after an answer, if it is not. */
static int own_live_job (struct api *api, struct http_request *request, const char *doing,
                         const struct job **ret)
{
    int index = api_own_job (api, request, doing);
    if (index < 0 || !expect_live (api, request, api->options.cluster->jobs[index]))
        return -1;
    *ret = api->options.cluster->jobs[index];
    return index;
}

void api_cancel (struct api *api, struct http_request *request)
{
    const struct job *job;
    int index = own_live_job (api, request, "cancel it", &job);
    if (index < 0)
        return;
    if (job->phase == JOB_CANCELLING) { /* it was cancelled before */
        struct present present = api_present (api);
        api_reply (api, request, 202, describe_job (&present, index));
        return;
    }
    struct event event = {.type = EVENT_CANCEL, .job = index};
    post_and_show (api, request, &event, 202);
}

/* ---- Limits ------------------------------------------------------------------------------- */

static int read_count (const struct wire_place *object, const char *key, int min, int *ret,
                       struct pollux_error *err)
{
    int64_t count = 0;
    if (!wire_has (object, key))
        return 0;
    int rc = wire_int64 (object, key, min, POLLUX_REPLICAS_LIMIT, &count, err);
    if (rc == 0)
        *ret = (int)count;
    return rc;
}

/* Read limits from the body; missing ones keep their value. */
static int read_limits (const struct wire_place *object, struct job_spec *ret,
                        struct pollux_error *err)
{
    static const char *const keys[] = {"min_replicas", "max_replicas", "weight", NULL};
    struct job_spec spec = *ret;
    int rc = wire_expect_object (object, err);
    if (rc == 0)
        rc = wire_expect_keys (object, keys, err);
    if (rc == 0)
        rc = read_count (object, "min_replicas", 0, &spec.min_replicas, err);
    if (rc == 0)
        rc = read_count (object, "max_replicas", 1, &spec.max_replicas, err);
    if (rc == 0 && wire_has (object, "weight"))
        rc =
            wire_double (object, "weight", WIRE_WEIGHT_LEAST, WIRE_WEIGHT_LIMIT, &spec.weight, err);
    if (rc < 0)
        return rc;
    if (spec.min_replicas > spec.max_replicas)
        return fail (err, -EINVAL, "min_replicas %d is more than max_replicas %d",
                     spec.min_replicas, spec.max_replicas);
    struct job changed = {.spec = spec};
    if (job_next_replicas (&changed, 0) == 0)
        return fail (
            err, -EINVAL,
            "job %s: none of its allowed replica counts is between %d and %d; choose other "
            "limits",
            spec.name, spec.min_replicas, spec.max_replicas);
    *ret = spec;
    return 0;
}

void api_limits (struct api *api, struct http_request *request)
{
    const struct job *job;
    int index = own_live_job (api, request, "change its limits", &job);
    if (index < 0)
        return;
    struct wire_document *document = api_body (api, request, "limits");
    if (!document)
        return;
    struct wire_place root = wire_root (document);
    struct job_spec spec = job->spec;
    struct pollux_error err;
    int rc = read_limits (&root, &spec, &err);
    wire_document_free (document);
    if (rc < 0) {
        api_refuse (api, request, 400, "%s", err.text);
        return;
    }
    struct event event = {.type = EVENT_LIMITS,
                          .job = index,
                          .limits = {.min_replicas = spec.min_replicas,
                                     .max_replicas = spec.max_replicas,
                                     .weight = spec.weight}};
    post_and_show (api, request, &event, 200);
}

/* ---- Explain ------------------------------------------------------------------------------ */

/* Explain a job among all live jobs; for the job itself its latest report is used. */
static json_t *explain_job (const struct present *present, int index, struct pollux_error *err)
{
    const struct cluster *cluster = present->cluster;
    struct explanation *explanation = calloc (1, sizeof (*explanation));
    const struct job **jobs = calloc ((size_t)cluster->live.count + 1, sizeof (jobs[0]));
    json_t *answer = NULL;
    int place = -1;
    struct job subject = *cluster->jobs[index];
    subject.hints = *latest_hints (cluster, present->reports, index, &subject.batch);
    for (int i = 0; jobs && i < cluster->live.count; i++) {
        jobs[i] = cluster->live.jobs[i];
        if (cluster->live.indices[i] == index) {
            jobs[i] = &subject;
            place = i;
        }
    }
    if (jobs && explanation && place >= 0) {
        struct view view = cluster_view (cluster, present->round);
        view.jobs = jobs;
        view.job_count = cluster->live.count;
        const struct policy *policy = NULL;
        if (policy_find (present->round->policy, &policy, err) == 0 &&
            explain_present (policy, &view, place, explanation, err) == 0)
            answer = describe_explanation (present, index, explanation);
    }
    free (explanation);
    free (jobs);
    return answer;
}

void api_explain (struct api *api, struct http_request *request)
{
    int index = api_job (api, request);
    if (index < 0 || !expect_live (api, request, api->options.cluster->jobs[index]))
        return;
    struct pollux_error err = {"not enough memory"};
    struct present present = api_present (api);
    json_t *answer = explain_job (&present, index, &err);
    if (answer)
        api_reply (api, request, 200, answer);
    else
        api_refuse (api, request, 503, "%s", err.text);
}
