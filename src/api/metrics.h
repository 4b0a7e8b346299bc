/* SPDX-License-Identifier: Apache-2.0 */
/* The text of GET /metrics for Prometheus: counters of requests, kept here, and figures that are read
 * from the cluster and its status. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "http/http.h"
#include "loop/cluster_status.h"

/* Pairs of route and status: 28 routes with up to 16 statuses each, and some space.  Pairs beyond are
 * not counted. */
enum { METRICS_ANSWERS = 512 };
struct answer_count {
    const char *method, *route; /* literals */
    int code;
    uint64_t count;
};

/* Counters of requests.  Zero to begin with; nothing to free. */
struct metrics {
    struct histogram handle_s; /* durations of handlers */
    struct answer_count answers[METRICS_ANSWERS];
    int answer_count;
};

/* Count an answer of a handler, and how long the handler took. */
void metrics_answer (struct metrics *metrics, const char *method, const char *route, int code,
                     double seconds);

/* Where the other figures come from.  Borrowed. */
struct metrics_sources {
    const struct cluster *cluster;
    int64_t now_us;
    const struct cluster_status *status;
    const struct http_counts *http; /* NULL: no server */
    int64_t journal_bytes;          /* -1: unknown */
    int64_t journal_events;
    double uptime_s;
    uint64_t resident_bytes; /* 0: unknown */
};

/* All of it in the text format, from malloc; NULL: not enough memory. */
char *metrics_text (const struct metrics *metrics, const struct metrics_sources *sources,
                    size_t *ret_length);

#endif
