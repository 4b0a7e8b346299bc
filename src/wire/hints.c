/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode hints.  Policies divide by the limits: a model is refused unless all four
 * limits come with it.
 */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "wire/job.h"
#include "wire/member.h"
#include "wire/spec.h"

static const struct wire_member hints_members[] = {
    {WIRE_MEMBER (hints, max_profiled_replicas, WIRE_INT), .optional = true, .missing = -1,
     .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (hints, progress, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {WIRE_MEMBER (hints, total, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {0},
};

/* The first missing limit, if there is a model or another limit; else NULL. */
static const char *missing_limit (const struct pollux_limits *limits, bool has_model)
{
    if (!has_model && !limits->init_batch && !limits->max_batch && !limits->min_local &&
        !limits->max_local)
        return NULL;
    return !limits->init_batch  ? "init_batch"
           : !limits->max_batch ? "max_batch"
           : !limits->min_local ? "min_local"
           : !limits->max_local ? "max_local"
                                : NULL;
}

int wire_hints_decode (const struct wire_place *object, struct hints *ret, struct pollux_error *err)
{
    struct wire_job job;
    struct hints hints = {0};
    int code = wire_job_decode (object, &job, err);
    if (code == 0)
        code = wire_members_decode (hints_members, object, &hints, err);
    if (code < 0)
        return code;
    const char *missing = missing_limit (&job.limits, job.has_model);
    if (job.has_model != job.has_grad)
        missing = job.has_model ? "grad" : "model";
    if (missing) {
        struct wire_place place = wire_field (object, missing);
        return wire_fail (&place, err, "expected it beside the rest of the model");
    }
    hints.has_model = job.has_model;
    hints.model = job.model;
    hints.grad = job.grad;
    hints.limits = job.limits;
    *ret = hints;
    return 0;
}

int wire_hints_put (const struct hints *hints, json_t *object, struct pollux_error *err)
{
    const char *missing = missing_limit (&hints->limits, hints->has_model);
    if (missing)
        return fail (err, -EINVAL, "%s: expected it beside the rest of the model, got 0", missing);
    struct wire_job job = {.has_model = hints->has_model,
                           .has_grad = hints->has_model,
                           .model = hints->model,
                           .grad = hints->grad,
                           .limits = hints->limits};
    int code = wire_job_put (&job, object, err);
    return code < 0 ? code : wire_members_encode (hints_members, hints, object, err);
}
