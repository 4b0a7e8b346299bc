/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a job on each type of nodes.  A type that the job has not trained on is predicted from one
 * that it has: its model with all times divided by the ratio of speeds between the two types.  The ratio is a mean
 * of those of the jobs of the view that have trained on both, and in an informed view of those that have ended.
 */
#ifndef POLICY_JOB_MODEL_H
#define POLICY_JOB_MODEL_H

#include "base/arena.h"
#include "cluster/pools.h"
#include "cluster/view.h"

/* How many times as fast as those of another pool the nodes of a pool are, with one replica.
 * [to * count + from]: mean and standard error of the ratio's logarithm; samples 0: unknown. */
struct type_ratios {
    int count; /* pools */
    struct type_ratio {
        double mean, error;
        int samples; /* jobs */
    } * ratios;
};

/* From the jobs of a view, in the arena's memory.  -ENOMEM. */
int type_ratios_make (const struct view *view, const struct pools *pools, struct arena *arena,
                      struct type_ratios *ret);

/* Where a model comes from: the job itself, the speeds of its owner or other jobs, or no evidence. */
enum model_source { MODEL_MEASURED, MODEL_PREDICTED, MODEL_GUESSED };

/* A job on nodes of one type. */
struct job_model {
    bool known;   /* else its goodput is its number of replicas times speed */
    double speed; /* without a model: see job_assumed_speed */
    enum model_source source;
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits;
    /* That it may have there now: twice those that it was measured with on any type, if it has a model or a prediction
     * of this one; else the fewest that it can run with, or those that it has there.  0: it may not run there. */
    int most_replicas;
};

/* Of a pool.  Nodes without a type, and hints without one, match every type.  A type without a model is predicted
 * by the owner's speeds, or else by the ratios.  If no ratio is known, or the prediction is a time that no machine has, the type counts as
 * equally fast, with the fewest replicas that the job can run with, or those that it has there. */
struct job_model job_model_on (const struct job *job, const struct pools *pools, int pool,
                               const struct type_ratios *ratios);

/* All times divided by the ratio of speeds. */
struct pollux_model model_faster (struct pollux_model model, double ratio);

/* Of the type that it trained on last. */
struct job_model job_model_last (const struct job *job);

#endif
