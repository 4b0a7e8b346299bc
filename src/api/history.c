/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about the past, for charts: of the cluster, and of a job.  Columns of numbers are written
 * as text at once: a year of the cluster has 70,000 of them.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "api/json_text.h"
#include "loop/job_values.h"
#include "wire/placement.h"

static const double US = 1e-6;
static const int64_t SECOND_US = 1000000;

/* ---- Columns ------------------------------------------------------------------------------ */

/* Charts need no more than this. */
enum { DIGITS = 6 };

static void write_value (struct json_text *text, int i, double value)
{
    json_text_add (text, ",", i > 0);
    json_text_number (text, value, DIGITS);
}

static void write_time (struct json_text *text, int i, int64_t at_us)
{
    json_text_put (text, "%s%.16g", i > 0 ? "," : "", (double)at_us * US);
}

/* Answer with the text, which is consumed; 503 if it is not whole. */
static void reply_text (struct api *api, struct http_request *request, struct json_text *text)
{
    if (text->failed) {
        free (text->bytes);
        text->bytes = NULL;
    }
    api->status = text->bytes ? 200 : 503;
    http_answer (request, 200, "application/json", text->bytes, text->bytes ? text->length : 1);
}

/* ---- The cluster -------------------------------------------------------------------------- */

/* The rows that begin at since_us or later. */
static void write_series (struct json_text *text, const struct series *series, int64_t since_us)
{
    int count = series_count (series), first = 0;
    while (first < count && series_get (series, first).at_us < since_us)
        first++;
    json_text_put (text, "{\"at\":[");
    for (int i = first; i < count; i++)
        write_time (text, i - first, series_get (series, i).at_us);
    for (int value = 0; value < SERIES_VALUES; value++) {
        json_text_put (text, "],\"%s\":[", series_names[value]);
        for (int i = first; i < count; i++)
            write_value (text, i - first, series_get (series, i).values[value]);
    }
    json_text_put (text, "]}");
}

void api_history (struct api *api, struct http_request *request)
{
    struct cluster_past past;
    int64_t since = INT64_MIN / SECOND_US;
    if (api_query_int (api, request, "since", 0, INT64_MAX / SECOND_US, &since) < 0)
        return;
    if (history_until (&api->options.status->history, api_present (api).now_us, &past) < 0) {
        api_refuse (api, request, 503, "not enough memory");
        return;
    }
    struct json_text text = {0};
    json_text_put (&text, "{\"minutes\":");
    write_series (&text, &past.minutes, since * SECOND_US);
    json_text_put (&text, ",\"hours\":");
    write_series (&text, &past.hours, since * SECOND_US);
    json_text_put (&text, "}");
    reply_text (api, request, &text);
    cluster_past_clear (&past);
}

/* ---- A job -------------------------------------------------------------------------------- */

/* The points of a job, the values since then, and if it lives those of the present. */
struct curve {
    struct job_point points[JOB_POINTS_LIMIT + 2];
    int count;
};

static struct curve find_curve (const struct history *history, const struct present *present,
                                int job)
{
    const struct cluster *cluster = present->cluster;
    const struct job_past *past = history_job (history, job);
    struct curve curve = {.count = past ? past->point_count : 0};
    if (!past)
        return curve;
    if (curve.count > 0)
        memcpy (curve.points, past->points, (size_t)curve.count * sizeof (curve.points[0]));
    struct job_point *last = &curve.points[curve.count++];
    last->at_us = past->until_us;
    memcpy (last->values, past->present, sizeof (last->values));
    if (!job_live (cluster->jobs[job]) || present->now_us <= past->until_us)
        return curve;
    struct pollux_batch batch;
    const struct hints *hints = latest_hints (cluster, present->reports, job, &batch);
    last = &curve.points[curve.count++];
    last->at_us = present->now_us;
    history_present (history, cluster, job, hints, batch, last->values);
    return curve;
}

static void write_points (struct json_text *text, const struct curve *curve)
{
    json_text_put (text, "{\"at\":[");
    for (int i = 0; i < curve->count; i++)
        write_time (text, i, curve->points[i].at_us);
    for (int value = 0; value < POINT_VALUES; value++) {
        json_text_put (text, "],\"%s\":[", point_names[value]);
        for (int i = 0; i < curve->count; i++)
            write_value (text, i, curve->points[i].values[value]);
    }
    json_text_put (text, "]}");
}

static json_t *describe_type (const struct cluster *cluster, int node)
{
    const char *type = node >= 0 ? cluster->nodes[node].type : "";
    return type[0] ? json_string (type) : json_null ();
}

static json_t *time_or_null (int64_t at_us)
{
    return at_us >= 0 ? json_real ((double)at_us * US) : json_null ();
}

static json_t *describe_generation (const struct cluster *cluster,
                                    const struct past_generation *past)
{
    struct placement placement = {.shares = past->shares, .count = past->share_count};
    return json_pack ("{s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o}", "generation",
                      past->generation, "started_at", time_or_null (past->started_us), "ready_at",
                      time_or_null (past->ready_us), "ended_at", time_or_null (past->ended_us),
                      "kind", past->kind >= 0 ? json_string (exit_names[past->kind]) : json_null (),
                      "detail", past->detail ? json_string (past->detail) : json_null (),
                      "replicas", past->replicas, "nodes", past->nodes, "placement",
                      wire_placement_encode (cluster, placement), "type",
                      describe_type (cluster, past->share_count > 0 ? past->shares[0].node : -1));
}

/* hints: the latest ones of a live job; NULL: the job has ended. */
static json_t *describe_measured (const struct cluster *cluster, const struct hints *hints,
                                  const struct measured_step *step)
{
    double predicted_s = hints ? job_predicted_s (cluster, hints, step) : step->predicted_s;
    return json_pack ("{s:o, s:i, s:i, s:I, s:f, s:o}", "type", describe_type (cluster, step->node),
                      "nodes", step->nodes, "replicas", step->replicas, "m", (json_int_t)step->m,
                      "step_s", step->step_s, "predicted_s", describe_number (predicted_s));
}

/* Append a value, which is consumed. */
static bool append (json_t *array, json_t *value)
{
    return json_array_append_new (array, value) == 0;
}

/* {"generations": [...], "measured": [...]}; NULL: no memory. */
static json_t *describe_past (const struct present *present, int job, const struct job_past *past)
{
    const struct cluster *cluster = present->cluster;
    struct pollux_batch batch;
    const struct hints *hints = job_live (cluster->jobs[job])
                                    ? latest_hints (cluster, present->reports, job, &batch)
                                    : NULL;
    json_t *generations = json_array (), *measured = json_array ();
    bool whole = generations && measured;
    for (int i = 0; whole && past && i < past->generation_count; i++)
        whole = append (generations, describe_generation (cluster, &past->generations[i]));
    for (int i = 0; whole && past && i < past->measured_count; i++)
        whole = append (measured, describe_measured (cluster, hints, &past->measured[i]));
    json_t *object = json_pack ("{s:o, s:o}", "generations", generations, "measured", measured);
    if (whole)
        return object;
    json_decref (object);
    return NULL;
}

void api_job_history (struct api *api, struct http_request *request)
{
    int job = api_job (api, request);
    if (job < 0)
        return;
    const struct history *history = &api->options.status->history;
    const struct job_past *past = history_job (history, job);
    struct present present = api_present (api);
    struct curve curve = find_curve (history, &present, job);
    json_t *rest = describe_past (&present, job, past);
    char *rest_text = rest ? json_dumps (rest, API_JSON) : NULL;
    struct json_text text = {.failed = !rest_text};
    json_text_put (&text, "{\"points\":");
    write_points (&text, &curve);
    if (rest_text) /* without its brace */
        json_text_put (&text, ",%s", rest_text + 1);
    free (rest_text);
    json_decref (rest);
    reply_text (api, request, &text);
}
