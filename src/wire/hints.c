/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode hints.  Policies divide by the limits: a model is refused unless all four
 * limits come with it.  Models of other types have their own max_local and share the other limits.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "wire/job.h"
#include "wire/member.h"
#include "wire/spec.h"

static const struct wire_member hints_members[] = {
    {WIRE_MEMBER (hints, type, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (hints, max_profiled_replicas, WIRE_INT), .optional = true, .missing = -1,
     .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (hints, progress, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {WIRE_MEMBER (hints, total, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {WIRE_MEMBER (hints, step_s, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (hints, rate_factor, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_GAIN_LIMIT},
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

/* ---- Models of other types ---------------------------------------------------------------- */

/* Elements of `models` at most, with those that are skipped. */
enum { MODELS_LIMIT = 64 };

static const struct wire_member other_members[] = {
    {WIRE_MEMBER (type_model, type, WIRE_NAME)},
    {WIRE_MEMBER (type_model, max_local, WIRE_INT64), .min = 1, .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_MEMBER (type_model, max_profiled_replicas, WIRE_INT), .min = 1,
     .max = POLLUX_REPLICAS_LIMIT},
    {0},
};

static bool has_type (const struct hints *hints, const char *type)
{
    bool found = strcmp (hints->type, type) == 0;
    for (int i = 0; i < hints->other_count; i++)
        found |= strcmp (hints->others[i].type, type) == 0;
    return found;
}

static int decode_other (const struct wire_place *place, struct hints *hints,
                         struct pollux_error *err)
{
    struct type_model other;
    struct wire_job job;
    int code = wire_job_decode (place, &job, err);
    if (code == 0)
        code = wire_members_decode (other_members, place, &other, err);
    if (code < 0)
        return code;
    struct wire_place model = wire_field (place, "model"), type = wire_field (place, "type"),
                      most = wire_field (place, "max_local");
    if (!job.has_model)
        return wire_fail (&model, err, "expected a model");
    if (has_type (hints, other.type))
        return wire_fail (&type, err, "expected one model per type");
    if (other.max_local < hints->limits.min_local)
        return wire_fail (&most, err, "expected at least min_local (%lld)",
                          (long long)hints->limits.min_local);
    other.model = job.model;
    hints->others[hints->other_count++] = other;
    return 0;
}

int wire_other_models_decode (const struct wire_place *object, struct hints *hints,
                              struct pollux_error *err)
{
    struct wire_place list = wire_field (object, "models");
    size_t count = 0;
    hints->other_count = 0;
    if (!wire_has (object, "models"))
        return 0;
    if (!hints->has_model || !hints->type[0])
        return wire_fail (&list, err, "expected model and type beside it");
    int code = wire_count_elements (&list, MODELS_LIMIT, "models", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i);
        if (wire_has (&place, "plan")) /* of a later version */
            continue;
        code = hints->other_count < OTHER_MODELS_LIMIT
                   ? decode_other (&place, hints, err)
                   : wire_fail (&list, err, "expected at most %d models", OTHER_MODELS_LIMIT);
    }
    return code;
}

int wire_other_models_put (const struct hints *hints, json_t *object, struct pollux_error *err)
{
    if (hints->other_count == 0)
        return 0;
    json_t *list = json_array ();
    int code = wire_put (object, "models", list, err);
    for (int i = 0; code == 0 && i < hints->other_count; i++) {
        struct wire_job job = {.has_model = true, .model = hints->others[i].model};
        json_t *entry = wire_job_encode (&job);
        code = entry ? wire_members_encode (other_members, &hints->others[i], entry, err)
                     : fail (err, -ENOMEM, "models: not enough memory");
        if (code == 0 && json_array_append (list, entry) < 0)
            code = fail (err, -ENOMEM, "models: not enough memory");
        json_decref (entry);
    }
    return code;
}

/* ---- Hints -------------------------------------------------------------------------------- */

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
    code = wire_other_models_decode (object, &hints, err);
    if (code == 0)
        *ret = hints;
    return code;
}

int wire_hints_check (const struct wire_place *object, const struct hints *hints,
                      struct pollux_error *err)
{
    for (int i = 0; i < hints_model_count (hints); i++) {
        struct type_model item = hints_model_at (hints, i);
        struct wire_place place = wire_field (object, i > 0 ? "models" : "model");
        if (!model_step_in_range (&item.model, item.max_local))
            return wire_fail (
                &place, err,
                "expected a step of max_local (%lld) samples%s%s to take at least %g s",
                (long long)item.max_local, item.type[0] ? " on type " : "", item.type,
                MODEL_STEP_LEAST);
    }
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
    if (code == 0)
        code = wire_members_encode (hints_members, hints, object, err);
    return code < 0 ? code : wire_other_models_put (hints, object, err);
}
