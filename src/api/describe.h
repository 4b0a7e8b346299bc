/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs, nodes, plans and rounds as the JSON objects of docs/api.md.  Unknown values are null.  All
 * functions return a new object, or NULL without memory.
 */
#ifndef API_DESCRIBE_H
#define API_DESCRIBE_H

#include <jansson.h>

#include "loop/cluster_status.h"
#include "loop/job_rates.h"
#include "loop/wait_reason.h"

/* The state that is described.  Valid until the next event. */
struct present {
    const struct cluster *cluster;
    const struct report_set *reports;
    const struct round_history *rounds;
    const struct round *round; /* parameters of full rounds */
    int64_t now_us;
    int64_t next_round_us; /* INT64_MAX: unknown */
    struct slot_totals totals;
    int fair;       /* replicas of a fair share */
    double goodput; /* of the cluster: history_goodput */
};
struct present present_make (const struct cluster *cluster, const struct cluster_status *status,
                             const struct round *round, int64_t now_us);
struct wait_times present_times (const struct present *present);

/* Values of a job that are computed.  hints is borrowed until the next event. */
struct job_figures {
    const struct hints *hints; /* the latest */
    struct job_rates rates;
    int64_t started_us, ended_us; /* -1: not yet */
    double run_s;                 /* seconds with slots */
    double cost;                  /* of these slots so far */
    double price_per_hour;        /* of the slots that it has now */
};
struct job_figures job_figures_of (const struct present *present, int job);

/* A job by its index, as in lists. */
json_t *describe_job (const struct present *present, int job);

/* The same with all fields of GET /v1/jobs/{name}.  secrets: with the environment. */
json_t *describe_job_fully (const struct present *present, int job, bool secrets);

/* One node, or an array of all. */
json_t *describe_node (const struct present *present, int node);
json_t *describe_nodes (const struct present *present);

/* The groups of nodes, what they aim at and what they cost.  nodes: with those that are not off. */
json_t *describe_groups (const struct present *present, bool nodes);

/* The latest plan; a round; the cluster as a whole. */
json_t *describe_plan (const struct present *present);
json_t *describe_round (const struct round_summary *summary);
json_t *describe_status (const struct present *present, const char *backend, int64_t started_us);

/* Parts: a text, null if it is empty or NULL; a number, null if it is not finite; a time in seconds, null if it is negative; a batch, null if it is
 * unknown. */
json_t *describe_text (const char *text);
json_t *describe_number (double number);
json_t *describe_time (int64_t us);
json_t *describe_batch (struct pollux_batch batch, double total);

#endif
