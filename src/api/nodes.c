/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about the cluster: health, readiness, metrics, status, plan and the list of nodes.
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
        .now_us = options->now_us (options->self),
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

void api_list_nodes (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    api_reply (api, request, 200, json_pack ("{s:o}", "nodes", describe_nodes (&present)));
}
