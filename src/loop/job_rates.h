/* SPDX-License-Identifier: Apache-2.0 */
/* How a job trains now, by its own model: what people are told of it. */
#ifndef LOOP_JOB_RATES_H
#define LOOP_JOB_RATES_H

#include "cluster/view.h"
#include "loop/reports.h"

/* NaN where unknown. */
struct job_rates {
    struct pollux_batch batch; /* {0, 0}: unknown */
    double total_batch;        /* in samples; 0: unknown */
    double throughput;         /* samples/s */
    double efficiency;         /* in (0, 1] */
    double goodput;            /* useful samples/s */
    double speedup;            /* times as fast as with its fair share */
    double noise_scale;        /* samples */
    double eta_s;              /* until its end, at this goodput */
};

/* Of a job with these hints and that batch, where a fair share has so many replicas. */
struct job_rates job_rates_of (const struct job *job, const struct hints *hints,
                               struct pollux_batch batch, enum pollux_search search, int fair);

/* What is known of a job: its latest report, or what the cluster believes. */
const struct hints *latest_hints (const struct cluster *cluster, const struct reports *reports,
                                  int job, struct pollux_batch *ret_batch);

/* Seconds until the end at a goodput; NaN if one of them is unknown, infinite at goodput 0. */
double eta_at (const struct hints *hints, double goodput);

#endif
