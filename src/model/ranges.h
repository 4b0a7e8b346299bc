/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Largest values of the numbers that describe a job.  Agents report only numbers within them, and
 * every reader refuses others (docs/formats.md lists them).  No sum or product of such numbers
 * overflows.  Batches and replicas: POLLUX_BATCH_LIMIT, POLLUX_REPLICAS_LIMIT.
 */
#ifndef MODEL_RANGES_H
#define MODEL_RANGES_H

#include "pollux/pollux.h"

#define MODEL_TIME_LIMIT 1e12     /* seconds: 30,000 years */
#define MODEL_STEP_LEAST 1e-9     /* seconds of a step with max_local samples */
#define MODEL_GAMMA_LIMIT 1e3     /* fitted values are at most 10 */
#define MODEL_GRAD_LIMIT 1e300    /* sqr and var: their sum stays finite */
#define MODEL_GAIN_LIMIT 1e12     /* gain_max: the largest total batch has 1e12 samples */
#define MODEL_PROGRESS_LIMIT 1e18 /* iterations: 30 million years at a thousand per second */

/* True if a computation takes any time at all: alpha_grad + beta_grad > 0. */
static inline bool model_takes_time (const struct pollux_model *model)
{
    return model->alpha_grad + model->beta_grad > 0;
}

/* True if a step with the largest local batch takes at least MODEL_STEP_LEAST. */
static inline bool model_step_in_range (const struct pollux_model *model, int64_t max_local)
{
    return model->alpha_grad + model->beta_grad * (double)max_local >= MODEL_STEP_LEAST;
}

/* True if all parameters are within the ranges, and so is a step with the largest local batch. */
static inline bool model_in_range (const struct pollux_model *model, int64_t max_local)
{
    const double times_s[] = {model->alpha_grad, model->beta_grad,   model->alpha_node,
                              model->beta_node,  model->alpha_local, model->beta_local};
    for (size_t i = 0; i < sizeof (times_s) / sizeof (times_s[0]); i++)
        if (!(times_s[i] >= 0 && times_s[i] <= MODEL_TIME_LIMIT))
            return false;
    return model_step_in_range (model, max_local) && model->gamma >= 1 &&
           model->gamma <= MODEL_GAMMA_LIMIT;
}

#endif
