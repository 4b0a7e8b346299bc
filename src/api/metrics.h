/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus is told: counters that grow here, and gauges that are read off the cluster. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "loop/reports.h"
#include "loop/round_history.h"
#include "http/http.h"

/* Seconds from 10 us to 40 s in steps of 4, and what is longer. */
enum { METRICS_BUCKETS = 12 };
struct histogram {
    uint64_t buckets[METRICS_BUCKETS + 1];
    double sum;
};
void histogram_add (struct histogram *histogram, double seconds);

/* 64 routes with 16 codes each: more than there are.  What does not fit is counted as "other". */
enum { METRICS_ANSWERS = 512 };
struct answer_count {
    const char *method, *route; /* literals */
    int code;
    uint64_t count;
};

/* Zero to begin with; nothing to free. */
struct metrics {
    uint64_t rounds[2]; /* full ones, and those that only fill */
    uint64_t submits, starts, restarts, failures, ends[JOB_PHASES];
    uint64_t events;
    struct histogram decide_s, commit_s, handle_s;
    struct answer_count answers[METRICS_ANSWERS];
    int answer_count;
};

/* An event is about to be applied. */
void metrics_take (struct metrics *metrics, const struct cluster *cluster,
                   const struct event *event);

/* A handler answered. */
void metrics_answer (struct metrics *metrics, const char *method, const char *route, int code,
                     double seconds);

/* Where the gauges come from. */
struct metrics_sources {
    const struct cluster *cluster;
    const struct reports *reports;
    const struct round_history *rounds;
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
