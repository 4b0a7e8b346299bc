/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads made up: by a recipe and a seed, or sampled from the history of a real cluster. */
#ifndef SIM_WORKLOAD_GENERATE_H
#define SIM_WORKLOAD_GENERATE_H

#include "sim/job_history.h"
#include "sim/workload.h"

/* Arrivals follow the day: most at 14:00, least at 2:00, and between them the rate changes as
 * ratio^((1 + cos) / 2).  A job's application is drawn by weight, its size uniformly from
 * the application's sensible ones (sim/job_sizes.h). */
struct recipe {
    int jobs;             /* exactly so many; 0: as many as arrive at the rate */
    double jobs_per_hour; /* mean over a whole day, where jobs is 0 */
    double hours;         /* in which jobs are submitted */
    double start_hour;    /* of the day, 0..24; NaN: 9:00, or the busiest time of the history */
    double day_night;     /* busiest to quietest rate, 1 (flat) to RECIPE_DAY_NIGHT_LIMIT */
    const double *mix;    /* weight by application of the world; NULL: (1 + GPU hours)^-0.7 */
    int max_replicas;     /* that a job asks for */
    int slots_per_node;
    uint64_t seed;
    /* Times and sizes from a history instead, if not NULL: rows are drawn without repetition from
     * those in the window of the day, of the week, or since its start, whichever first is long
     * enough; the application is the one whose GPU time is nearest in ratio.  mix must be NULL,
     * day_night is not looked at. */
    const struct job_history *history;
};

#define RECIPE_DAY_NIGHT_LIMIT 100
#define RECIPE_HOURS_LIMIT 100000

/* 160 jobs in 8 hours, from 9:00, for nodes of 4 slots and at most 64 replicas; seed 0. */
struct recipe recipe_default (void);

/* Make a workload for a world; recipe NULL: the default, which is the built-in workload.  Jobs
 * are in the order of submission, at whole seconds.  On success *ret belongs to the caller
 * (workload_clear).  -EINVAL says what is wrong with the recipe. */
int workload_generate (const struct ground_truth *truth, const struct recipe *recipe,
                       struct workload *ret, struct pollux_error *err);

#endif
