/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a job trains now, computed from its own model. */
#ifndef LOOP_JOB_RATES_H
#define LOOP_JOB_RATES_H

#include "cluster/view.h"
#include "loop/report_set.h"

/* NaN where unknown. */
struct job_rates {
    struct pollux_batch batch; /* {0, 0}: unknown */
    double total_batch;        /* in samples; 0: unknown */
    double throughput;         /* samples/s */
    double efficiency;         /* in (0, 1] */
    double goodput;            /* useful samples/s */
    double speedup;            /* goodput relative to that on its fair share */
    double noise_scale;        /* samples */
    double eta_s;              /* seconds until its end at this goodput */
};

/* The rates of a job with these hints and this batch.  fair: replicas of a fair share. */
struct job_rates job_rates_of (const struct job *job, const struct hints *hints,
                               struct pollux_batch batch, enum pollux_search search, int fair);

/* The same in any shape and without the speedup, which is NaN. */
struct job_rates job_rates_at (const struct hints *hints, struct pollux_shape shape,
                               struct pollux_batch batch);

/* The goodput of a fair share (policy/speedup.h), by the model of the type that the job trained on
 * last. */
double fair_goodput_of (const struct hints *hints, enum pollux_search search, int fair);

/* The latest hints and batch of a job: of its report that is not journalled yet, or else the
 * cluster's. */
const struct hints *latest_hints (const struct cluster *cluster, const struct report_set *reports,
                                  int job, struct pollux_batch *ret_batch);

/* Seconds until the end at a goodput; NaN if progress or total is unknown, infinite at goodput 0. */
double eta_at (const struct hints *hints, double goodput);

#endif
