/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One workload under one policy on one simulated cluster: the shared loop on virtual time, with a
 * backend that models training.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdatomic.h>

#include "loop/loop.h"
#include "sim/workload.h"

/* The cluster and its rules.  sim_defaults gives the published ones. */
struct sim_config {
    int nodes, slots_per_node;
    double interval_s, restart_delay_s;
    double interference; /* share of speed that a multi-node job loses beside another, 0..1 */
    double p;            /* fairness of the policies that have it */
    int max_replicas;    /* of one job, for policies that choose */
    /* Jobs are wrong about the work they have left by a factor exp (error x normal), each by its
     * own from the start to the end; 0: they know. */
    double remaining_error;
    uint64_t seed;
    struct journal journal; /* where to record; zero for nowhere */
};
struct sim_config sim_defaults (void);

/* An error by exp (10) and more is no estimate. */
enum { SIM_ERROR_LIMIT = 10 };

/* 0 or -EINVAL with a sentence that names the option at fault. */
int sim_check (const struct sim_config *config, struct pollux_error *err);

/* How far a run is; another thread may read it meanwhile. */
struct sim_progress {
    _Atomic int64_t now_us;
    _Atomic int jobs_done, rounds;
    _Atomic bool stop; /* set it to end the run early, with -EINTR */
};

/* What became of one job. */
struct sim_job {
    double jct_s;
    double rho; /* finish-time fairness: jct_s / that of the job alone with its share */
    double slot_s;
    int restarts;
};

/* What became of all of them.  Jobs in the order of the workload. */
struct sim_result {
    struct sim_job *jobs;
    int job_count;
    double mean_jct_s, median_jct_s, p99_jct_s;
    double makespan_s; /* last completion - first submission */
    double slot_hours_per_job, restarts_per_job;
    double utilisation;       /* allocated slot-seconds / (slots x makespan) */
    double worst_rho, unfair; /* unfair: share of jobs with rho > 1 */
    int rounds;
    double decide_mean_s, decide_median_s, decide_p99_s, decide_max_s; /* of the real clock */
    bool modelled; /* some step times lay outside the measurements: the fitted model stood in */
};

/* Run until every job is done.  Equal inputs give an equal result, but for the decide times.
 * progress may be NULL.  On success *ret belongs to the caller (sim_result_clear). */
int sim_run (const struct sim_config *config, const struct workload *workload,
             const struct policy *policy, struct sim_progress *progress, struct sim_result *ret,
             struct pollux_error *err);
void sim_result_clear (struct sim_result *result);

#endif
