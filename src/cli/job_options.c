/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that complete a job object.  An option overrides the object's field, so that a variant
 * (say, twice the memory) needs no new file.
 */
#include "cli/job_options.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"

/* Far above any measured noise scale. */
#define NOISE_SCALE_LIMIT 1e15

struct job_options job_options_start (void)
{
    return (struct job_options){.grad_sqr = -1, .grad_var = -1, .noise_scale = -1};
}

static int take (struct job_options *given, int id, const struct options *options,
                 struct pollux_error *err)
{
    struct pollux_limits *limits = &given->limits;
    switch (id) {
    case JOB_INIT_BATCH:
        return options_int64 (options, 1, POLLUX_BATCH_LIMIT, &limits->init_batch, err);
    case JOB_MAX_BATCH:
        return options_int64 (options, 1, POLLUX_BATCH_LIMIT, &limits->max_batch, err);
    case JOB_MIN_LOCAL:
        return options_int64 (options, 1, POLLUX_BATCH_LIMIT, &limits->min_local, err);
    case JOB_MAX_LOCAL:
        return options_int64 (options, 1, POLLUX_BATCH_LIMIT, &limits->max_local, err);
    case JOB_ACCUMULATION:
    case JOB_NO_ACCUMULATION:
        given->has_accumulation = true;
        limits->accumulation = id == JOB_ACCUMULATION;
        return 0;
    case JOB_GRAD_SQR:
    case JOB_GRAD_VAR:
        return options_double (options, 0, MODEL_GRAD_LIMIT,
                               id == JOB_GRAD_SQR ? &given->grad_sqr : &given->grad_var, err);
    case JOB_NOISE_SCALE:
        return options_double (options, 0, NOISE_SCALE_LIMIT, &given->noise_scale, err);
    case JOB_GAIN_MAX:
        return options_double (options, 1, MODEL_GAIN_LIMIT, &given->gain_max, err);
    default:
        return 1;
    }
}

int job_options_take (struct job_options *given, int id, const struct options *options,
                      struct pollux_error *err)
{
    int code = take (given, id, options, err);
    given->any |= code == 0;
    return code < 0 ? code : !code;
}

static int apply_grad (const struct job_options *given, struct wire_job *job,
                       struct pollux_error *err)
{
    bool sqr = given->grad_sqr >= 0, var = given->grad_var >= 0, scale = given->noise_scale >= 0;
    if (scale && (sqr || var))
        return fail (err, -EINVAL,
                     "--noise-scale replaces --grad-sqr and --grad-var: give either it or "
                     "them");
    if (scale && !job->limits.init_batch)
        return fail (err, -EINVAL, "--noise-scale needs the batch M0 too: add --init-batch");
    if ((sqr || var) && !job->has_grad && !(sqr && var))
        return fail (err, -EINVAL, "gradient statistics come in pairs: add %s",
                     sqr ? "--grad-var" : "--grad-sqr");
    if (given->gain_max > 0 && !(job->has_grad || sqr || var || scale))
        return fail (err, -EINVAL, "--gain-max needs --noise-scale, or --grad-sqr and --grad-var");
    if (sqr)
        job->grad.sqr = given->grad_sqr;
    if (var)
        job->grad.var = given->grad_var;
    if (scale) {
        job->grad.sqr = 1;
        job->grad.var = given->noise_scale / (double)job->limits.init_batch;
    }
    if (given->gain_max > 0)
        job->grad.gain_max = given->gain_max;
    job->has_grad |= sqr || var || scale;
    return 0;
}

/* Check the order of two limits, if both are known. */
static int in_order (int64_t least, int64_t most, const char *names, struct pollux_error *err)
{
    if (least == 0 || most == 0 || least <= most)
        return 0;
    return fail (err, -EINVAL,
                 "%s: expected the first not to exceed the second, got %" PRId64 " and %" PRId64,
                 names, least, most);
}

int job_options_apply (const struct job_options *given, struct wire_job *job,
                       struct pollux_error *err)
{
    struct wire_job with = *job;
    const struct pollux_limits *more = &given->limits;
    struct pollux_limits *limits = &with.limits;
    limits->init_batch = more->init_batch ? more->init_batch : limits->init_batch;
    limits->max_batch = more->max_batch ? more->max_batch : limits->max_batch;
    limits->min_local = more->min_local ? more->min_local : limits->min_local;
    limits->max_local = more->max_local ? more->max_local : limits->max_local;
    if (given->has_accumulation)
        limits->accumulation = more->accumulation;
    int code = in_order (limits->init_batch, limits->max_batch, "init_batch and max_batch", err);
    if (code == 0)
        code = in_order (limits->min_local, limits->max_local, "min_local and max_local", err);
    if (code == 0)
        code = apply_grad (given, &with, err);
    if (code == 0)
        *job = with;
    return code;
}
