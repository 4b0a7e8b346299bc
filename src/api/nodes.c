/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about the cluster: health, readiness, metrics, status, plan, rounds; nodes, drain and resume.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api_private.h"
#include "store/reader.h"

void api_health (struct api *api, struct http_request *request)
{
    if (api->options.challenge) /* so that clients know how to sign before their first request */
        http_answer_header (request, "WWW-Authenticate", api->options.challenge);
    api_reply_text (api, request, 200, "text/plain", "ok\n");
}

void api_ready (struct api *api, struct http_request *request)
{
    if (api->unready)
        api_refuse (api, request, 503, "%s", api->unready);
    else
        api_reply_text (api, request, 200, "text/plain", "ok\n");
}

/* Memory of this process in bytes; 0 if unknown. */
static uint64_t resident_bytes (void)
{
    unsigned long pages = 0;
    FILE *file = fopen ("/proc/self/statm", "re");
    if (file && fscanf (file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose (file);
    long size = sysconf (_SC_PAGESIZE);
    return (uint64_t)pages * (uint64_t)(size > 0 ? size : 0);
}

void api_metrics (struct api *api, struct http_request *request)
{
    const struct api_options *options = &api->options;
    struct http_counts counts = {0};
    if (api->server)
        counts = http_server_counts (api->server);
    int64_t first = 0, last = 0;
    bool journal = options->reader && reader_range (options->reader, &first, &last, NULL) == 0;
    struct metrics_sources sources = {
        .cluster = options->cluster,
        .status = options->status,
        .http = api->server ? &counts : NULL,
        .journal_bytes = journal ? reader_bytes (options->reader) : -1,
        .journal_events = last,
        .uptime_s = (double)(options->now_us (options->self) - options->started_us) * 1e-6,
        .resident_bytes = resident_bytes (),
    };
    size_t length = 1;
    char *text = metrics_text (&api->metrics, &sources, &length);
    api->status = text ? 200 : 503;
    http_answer (request, 200, "text/plain; version=0.0.4", text, length);
}

void api_status (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    api_reply (api, request, 200,
               describe_status (&present, api->options.backend, api->options.started_us));
}

void api_plan (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    api_reply (api, request, 200, describe_plan (&present));
}

void api_list_rounds (struct api *api, struct http_request *request)
{
    int64_t limit = 50;
    if (api_query_int (api, request, "limit", 1, ROUND_HISTORY_LIMIT, &limit) < 0)
        return;
    json_t *array = json_array ();
    const struct round_summary *summary;
    const struct round_history *rounds = &api->options.status->rounds;
    for (int64_t age = 0; array && age < limit && (summary = round_history_get (rounds, age));
         age++)
        if (json_array_append_new (array, describe_round (summary)) < 0) {
            json_decref (array);
            array = NULL;
        }
    api_reply (api, request, 200, json_pack ("{s:o}", "rounds", array));
}

void api_list_nodes (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    api_reply (api, request, 200, json_pack ("{s:o}", "nodes", describe_nodes (&present)));
}

/* Set whether a node takes replicas.  No event is posted if nothing changes. */
static void set_available (struct api *api, struct http_request *request, bool available)
{
    int node = api_node (api, request);
    if (node < 0)
        return;
    struct event event = {.type = EVENT_NODE, .job = -1, .node = api->options.cluster->nodes[node]};
    struct pollux_error err = {""};
    int rc = 0;
    if (event.node.available != available) {
        event.node.available = available;
        rc = api->options.post (api->options.self, &event, &err);
    }
    if (rc < 0) {
        api_refuse_event (api, request, rc, &err);
        return;
    }
    struct present present = api_present (api);
    api_reply (api, request, 200, describe_node (&present, node));
}

void api_drain (struct api *api, struct http_request *request)
{
    set_available (api, request, false);
}

void api_resume (struct api *api, struct http_request *request)
{
    set_available (api, request, true);
}
