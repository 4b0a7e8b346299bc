/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options for fields of a job object: batch limits and gradient statistics.  Shared by the
 * subcommands that make or use such objects.
 */
#ifndef CLI_JOB_OPTIONS_H
#define CLI_JOB_OPTIONS_H

#include <stdbool.h>

#include "base/options.h"
#include "wire/job.h"

enum {
    JOB_INIT_BATCH = 1000,
    JOB_MAX_BATCH,
    JOB_MIN_LOCAL,
    JOB_MAX_LOCAL,
    JOB_ACCUMULATION,
    JOB_NO_ACCUMULATION,
    JOB_GRAD_SQR,
    JOB_GRAD_VAR,
    JOB_NOISE_SCALE,
    JOB_GAIN_MAX,
};

/* Rows for a command's table. */
#define JOB_OPTIONS                                                                                \
    {"init-batch", "N", JOB_INIT_BATCH, "the user's own total batch M0, in samples"},              \
        {"max-batch", "N", JOB_MAX_BATCH, "largest total batch, in samples"},                      \
        {"min-local", "N", JOB_MIN_LOCAL, "smallest batch of one replica, in samples"},            \
        {"max-local", "N", JOB_MAX_LOCAL, "largest batch of one replica that fits its memory"},    \
        {"accumulation", NULL, JOB_ACCUMULATION,                                                   \
         "gradients may be accumulated over several steps"},                                       \
        {"no-accumulation", NULL, JOB_NO_ACCUMULATION, "no accumulation"},                         \
        {"grad-sqr", "X", JOB_GRAD_SQR, "squared norm of the gradient"},                           \
        {"grad-var", "X", JOB_GRAD_VAR, "variance of the gradient at batch M0"},                   \
        {"noise-scale", "PHI", JOB_NOISE_SCALE, "M0 var / sqr in samples, instead of the two"},    \
    {                                                                                              \
        "gain-max", "X", JOB_GAIN_MAX, "the largest gain that the job uses"                        \
    }

/* The given values. */
struct job_options {
    bool any;
    struct pollux_limits limits; /* 0: not given */
    bool has_accumulation;
    double grad_sqr, grad_var, noise_scale; /* below 0: not given */
    double gain_max;                        /* 0: not given */
};

struct job_options job_options_start (void);

/* Take the current option: 1 if it is one of these, 0 if not, -EINVAL for a bad argument. */
int job_options_take (struct job_options *given, int id, const struct options *options,
                      struct pollux_error *err);

/* Override the object's fields with the given values.  -EINVAL if the result is inconsistent. */
int job_options_apply (const struct job_options *given, struct wire_job *job,
                       struct pollux_error *err);

#endif
