/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What charts show of a job at one moment, from its hints, its batch and its placement.
 */
#ifndef LOOP_JOB_VALUES_H
#define LOOP_JOB_VALUES_H

#include "cluster/cluster.h"
#include "cluster/job_past.h"
#include "loop/job_rates.h"

/* What the values follow from. */
struct job_state {
    const struct hints *hints;
    struct pollux_batch batch;
    struct pollux_shape shape; /* 0 replicas: it does not run */
    bool measured;             /* the hints were measured in this shape */
};

/* Of a job in the cluster, with hints of which is not known where they were measured. */
struct job_state job_state_of (const struct job *job);

/* Fill ret, and return the rates. */
struct job_rates job_values_of (const struct job_state *state, float ret[POINT_VALUES]);

/* Goodput relative to that on one replica with its best batch; the number of replicas, if the job
 * has no model.  past, if not NULL, keeps the batch of one replica for a quarter of the job's age:
 * the search takes longer than all else, and near the best batch the goodput hardly depends on the
 * batch. */
double job_relative_goodput (const struct job_state *state, const struct job_rates *rates,
                             const struct job *job, int64_t at_us, struct job_past *past);

/* The step time that hints predict for a configuration, seconds; NaN: they have no model for it. */
double job_predicted_s (const struct cluster *cluster, const struct hints *hints,
                        const struct measured_step *step);

#endif
