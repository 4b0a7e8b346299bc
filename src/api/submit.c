/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New jobs, which are journalled before the answer; agents' reports, which are journalled later, just
 * before the next full round; and supervisors' news, from which the backend makes events.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/api_private.h"
#include "api/tokens.h"
#include "api/watch.h"
#include "base/error.h"
#include "wire/document.h"
#include "wire/diagnostics.h"
#include "wire/report.h"
#include "wire/run_news.h"
#include "wire/submission.h"

/* 2^16 live jobs: their hints fit into one event, and a decision over them still takes seconds. */
enum { LIVE_MOST = 1 << 16 };

/* ---- Names -------------------------------------------------------------------------------- */

static bool is_interpreter (const char *word, size_t length)
{
    return (length >= 6 && strncmp (word, "python", 6) == 0) ||
           (length == 2 && strncmp (word, "sh", 2) == 0) ||
           (length == 4 && strncmp (word, "bash", 4) == 0);
}

/* The word at the beginning of the text, without folders. */
static const char *last_component (const char *word, size_t *ret_length)
{
    size_t length = strcspn (word, " \t\n;&|<>()$`\"'");
    const char *end = word + length;
    for (const char *at = word; at < end; at++)
        if (*at == '/')
            word = at + 1;
    *ret_length = (size_t)(end - word);
    return word;
}

/* A name for the command: "train" for "python3 src/train.py --epochs 90". */
static void guess_base (char *const *command, char *ret, size_t size)
{
    size_t length = 0;
    bool shell = command[0] && command[1] && command[2] && strcmp (command[1], "-c") == 0;
    const char *text = shell ? command[2] : command[0];
    const char *word = last_component (text ? text : "", &length);
    if (is_interpreter (word, length)) {
        const char *next = shell ? word + length + strspn (word + length, " \t") : command[1];
        size_t next_length = 0;
        next = last_component (next ? next : "", &next_length);
        if (next_length > 0 && next[0] != '-') {
            word = next;
            length = next_length;
        }
    }
    const char *dot = memchr (word, '.', length);
    if (dot && dot > word)
        length = (size_t)(dot - word);
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        if (isalnum ((unsigned char)word[i]) || (used > 0 && strchr ("_-", word[i])))
            ret[used++] = word[i];
    ret[used] = '\0';
    if (used == 0)
        snprintf (ret, size, "job");
}

/* BASE-N, where N is the job's number, or the next number with an unused name. */
static void make_name (const struct cluster *cluster, const struct launch *launch,
                       char ret[NAME_SIZE])
{
    char base[NAME_SIZE - 16];
    guess_base (launch->command, base, sizeof (base));
    int number = cluster->job_count + 1;
    do
        snprintf (ret, NAME_SIZE, "%s-%d", base, number++);
    while (cluster_find_job (cluster, ret) >= 0);
}

/* ---- Submissions -------------------------------------------------------------------------- */

static void refuse_problems (struct api *api, struct http_request *request,
                             const struct wire_diagnostics *diagnostics,
                             const struct pollux_error *err)
{
    json_t *list = wire_diagnostics_encode (diagnostics);
    api_reply (api, request, 400, json_pack ("{s:s, s:o}", "error", err->text, "problems", list));
}

/* An adaptive job was profiled with no replica count: until its first report it gets the fewest replicas
 * that it can run with. */
static struct hints first_hints (const struct job_spec *spec)
{
    struct hints hints = hints_unknown;
    if (spec->adaptive)
        hints.max_profiled_replicas = 0;
    return hints;
}

/* ---- Types that no node has ---- */

/* A list of names, as text. */
struct name_list {
    char text[256];
    size_t length;
};

/* Add a name, unless the list has it or is full. */
static void add_name (struct name_list *list, const char *name)
{
    char item[NAME_SIZE + 4], all[sizeof (list->text) + 4];
    snprintf (item, sizeof (item), " %s,", name);
    snprintf (all, sizeof (all), " %s,", list->text);
    size_t room = sizeof (list->text) - list->length;
    if (!name[0] || strstr (all, item) || strlen (name) + 3 > room)
        return;
    int added =
        snprintf (list->text + list->length, room, "%s%s", list->length > 0 ? ", " : "", name);
    list->length += (size_t)added;
}

/* A sentence about the types in `types` and `speeds` that no node has; empty: all are known.  No error, since nodes may
 * come later. */
static void warn_of_types (const struct cluster *cluster, const struct job_spec *spec,
                           struct pollux_error *ret)
{
    struct name_list unknown = {.length = 0}, known = {.length = 0};
    for (int i = 0; i < spec->types.count; i++)
        if (!cluster_has_type (cluster, spec->types.list[i]))
            add_name (&unknown, spec->types.list[i]);
    for (int i = 0; i < spec->speeds.count; i++)
        if (!cluster_has_type (cluster, spec->speeds.list[i].type))
            add_name (&unknown, spec->speeds.list[i].type);
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].slots > 0)
            add_name (&known, cluster->nodes[i].type);
    for (int i = 0; i < cluster->power.count; i++)
        add_name (&known, cluster->power.groups[i].type);
    ret->text[0] = '\0';
    if (unknown.length > 0)
        fail (ret, 0, "job %s: no node has the type %.100s; there are %.100s", spec->name,
              unknown.text, known.length > 0 ? known.text : "none");
}

/* Complete a submission by name and owner, and check it against the cluster and the backend.  False: it was refused. */
static bool complete_submission (struct api *api, struct http_request *request,
                                 struct wire_submission *submission)
{
    const struct cluster *cluster = api->options.cluster;
    struct job_spec *spec = &submission->spec;
    struct launch *launch = submission->launch;
    struct pollux_error err;
    if (!spec->name[0])
        make_name (cluster, launch, spec->name);
    else if (cluster_find_job (cluster, spec->name) >= 0) {
        api_refuse (api, request, 409,
                    "there is a job %s already; choose another name, or leave the name out",
                    spec->name);
        return false;
    }
    snprintf (launch->owner, sizeof (launch->owner), "%s", http_identity (request)->name);
    if (api->options.check && api->options.check (api->options.self, launch, &err) < 0) {
        api_refuse (api, request, 400, "%s", err.text);
        return false;
    }
    return true;
}

/* Answer with a document, and a warning if there is one. */
static void reply_with_warning (struct api *api, struct http_request *request, int status,
                                const struct job_spec *spec, json_t *body)
{
    struct pollux_error warning;
    warn_of_types (api->options.cluster, spec, &warning);
    if (body && warning.text[0])
        json_object_set_new (body, "warning", json_string (warning.text));
    api_reply (api, request, status, body);
}

static void post_submission (struct api *api, struct http_request *request,
                             struct wire_submission *submission)
{
    const struct job_spec *spec = &submission->spec;
    struct pollux_error err;
    struct event event = {
        .type = EVENT_SUBMIT,
        .job = api->options.cluster->job_count,
        .submit = {.spec = spec, .hints = first_hints (spec), .launch = submission->launch}};
    int rc = api->options.post (api->options.self, &event, &err);
    if (rc < 0) {
        api_refuse_event (api, request, rc, &err);
        return;
    }
    struct present present = api_present (api);
    char location[NAME_SIZE + 16];
    snprintf (location, sizeof (location), "/v1/jobs/%s", spec->name);
    http_answer_header (request, "Location", location);
    reply_with_warning (api, request, 201, spec, describe_job (&present, event.job));
}

/* check=1: nothing is posted. */
static void answer_check (struct api *api, struct http_request *request,
                          const struct wire_submission *submission)
{
    const struct job_spec *spec = &submission->spec;
    reply_with_warning (api, request, 200, spec,
                        json_pack ("{s:s, s:[]}", "name", spec->name, "problems"));
}

void api_submit (struct api *api, struct http_request *request)
{
    size_t length = 0;
    const char *text = http_body (request, &length);
    enum wire_syntax syntax = http_body_type (request) == HTTP_YAML ? WIRE_YAML : WIRE_JSON;
    struct wire_diagnostics diagnostics = {0};
    struct wire_submission submission;
    struct pollux_error err;
    bool check = false;
    if (api_query_flag (api, request, "check", &check) < 0)
        return;
    if (api->options.cluster->live.count >= LIVE_MOST) {
        api_refuse (api, request, 503,
                    "%d jobs are waiting or running, which is the limit; try again later",
                    LIVE_MOST);
        return;
    }
    int rc = wire_submission_parse ("job", text ? text : "", length, syntax, &diagnostics,
                                    &submission, &err);
    if (rc == -ENOMEM)
        api_refuse (api, request, 503, "%s", err.text);
    else if (rc < 0)
        refuse_problems (api, request, &diagnostics, &err);
    else {
        if (complete_submission (api, request, &submission)) {
            if (check)
                answer_check (api, request, &submission);
            else
                post_submission (api, request, &submission);
        }
        wire_submission_clear (&submission);
    }
}

/* ---- Reports ------------------------------------------------------------------------------ */

/* May report for the job: its own token, its owner and an admin. */
static bool may_report (struct http_request *request, const struct job *job)
{
    const struct http_identity *asker = http_identity (request);
    return api_owns (request, job) ||
           (asker->role == ROLE_JOB && strcmp (asker->name, job->spec.name) == 0);
}

/* The job that the request reports for, or -1 after an answer. */
static int reporting_job (struct api *api, struct http_request *request)
{
    const struct cluster *cluster = api->options.cluster;
    const char *name = http_param (request, "name");
    int index = name ? cluster_find_job (cluster, name) : -1;
    /* A job's token must not learn whether other jobs exist. */
    if (index < 0 ? http_identity (request)->role == ROLE_JOB
                  : !may_report (request, cluster->jobs[index])) {
        api_refuse (api, request, 403, "this client cannot report for job %s", name ? name : "");
        return -1;
    }
    if (index < 0)
        api_refuse (api, request, 404, "there is no job %s", name ? name : "");
    return index;
}

/* A job's token is that of one generation.  False: a request for another one has been refused. */
static bool check_generation (struct api *api, struct http_request *request, int generation)
{
    const struct http_identity *asker = http_identity (request);
    if (asker->role != ROLE_JOB || asker->number == generation)
        return true;
    api_refuse (api, request, 403, "this token is for reports of generation %d, not %d",
                asker->number, generation);
    return false;
}

void api_hints (struct api *api, struct http_request *request)
{
    int index = reporting_job (api, request);
    if (index < 0)
        return;
    const struct job *job = api->options.cluster->jobs[index];
    struct wire_report report;
    struct pollux_error err;
    size_t length = 0;
    const char *text = http_body (request, &length);
    int rc = wire_report_parse ("hints", text ? text : "", length, &report, &err);
    if (rc < 0) {
        api->options.report_refused (api->options.self, index, err.text);
        api_refuse (api, request, rc == -ENOMEM ? 503 : rc == -EFBIG ? 413 : 400, "%s", err.text);
        return;
    }
    if (!check_generation (api, request, report.generation))
        return;
    struct hints *hints = &report.report.hints;
    if (job->spec.adaptive && !hints->has_model && hints->max_profiled_replicas < 0)
        hints->max_profiled_replicas = 0; /* as in first_hints */
    report.report.job = index;
    rc = api->options.report (api->options.self, &report.report, report.generation, &err);
    if (rc < 0) {
        api_refuse (api, request, rc == -ESTALE ? 409 : 503, "%s", err.text);
        return;
    }
    watch_reported (api, index);
    api_reply_text (api, request, 202, "application/json", "{}");
}

/* ---- News of supervisors ------------------------------------------------------------------ */

void api_news (struct api *api, struct http_request *request)
{
    int index = reporting_job (api, request);
    if (index < 0)
        return;
    struct run_news news;
    struct pollux_error err;
    size_t length = 0;
    const char *text = http_body (request, &length);
    int rc = run_news_decode ("news", text ? text : "", length, &news, &err);
    if (rc < 0) {
        api_refuse (api, request, rc == -ENOMEM ? 503 : rc == -EFBIG ? 413 : 400, "%s", err.text);
        return;
    }
    if (!check_generation (api, request, news.generation))
        return;
    rc = api->options.news ? api->options.news (api->options.self, index, &news, &err) : 0;
    if (rc < 0) {
        api_refuse (api, request, rc == -ESTALE ? 409 : rc == -EINVAL ? 400 : 503, "%s", err.text);
        return;
    }
    api_reply_text (api, request, 202, "application/json", "{}");
}
