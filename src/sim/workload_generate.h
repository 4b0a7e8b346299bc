/* SPDX-License-Identifier: Apache-2.0 */
/* Generate workloads: from a recipe and a seed, or by sampling the job history of a cluster. */
#ifndef SIM_WORKLOAD_GENERATE_H
#define SIM_WORKLOAD_GENERATE_H

#include "sim/job_history.h"
#include "sim/workload.h"

/* Arrivals follow the day: most at 14:00, least at 2:00, and between them the rate changes as
 * ratio^((1 + cos) / 2).  A job's application is drawn by weight, its size uniformly from
 * the application's sensible ones (sim/job_sizes.h). */
struct recipe {
    int jobs;             /* number of jobs; 0: as many as arrive at the rate */
    double jobs_per_hour; /* mean over a whole day; used if jobs is 0 */
    double hours;         /* length of the period of submissions */
    double start_hour;    /* of the day, 0..24; NaN: 9:00, or the busiest time of the history */
    double day_night;     /* busiest to quietest rate, 1 (flat) to RECIPE_DAY_NIGHT_LIMIT */
    const double *mix;    /* weight by application index; NULL: (1 + slot hours)^-0.7 */
    int max_replicas;     /* largest request of a job */
    int slots_per_node;
    uint64_t seed;
    /* Not NULL: sample times and sizes from this history.  Rows are drawn without repetition from a
     * window of `hours` that repeats daily, weekly, or never: the shortest period that is long
     * enough.  The application is the one whose slot time is nearest in ratio.  mix must be NULL;
     * day_night is ignored. */
    const struct job_history *history;
};

#define RECIPE_DAY_NIGHT_LIMIT 100
#define RECIPE_HOURS_LIMIT 100000

/* 160 jobs in 8 hours, from 9:00, for nodes of 4 slots and at most 64 replicas; seed 0. */
struct recipe recipe_default (void);

/* Generate a workload of a ground truth's applications; recipe NULL: the default, which is the
 * built-in workload.  Jobs are in order of submission, at whole seconds.  On success *ret belongs to the caller
 * (workload_clear).  -EINVAL says what is wrong with the recipe. */
int workload_generate (const struct ground_truth *truth, const struct recipe *recipe,
                       struct workload *ret, struct pollux_error *err);

#endif
