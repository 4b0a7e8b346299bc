/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode job objects, by one table of fields for both directions.
 */
#include "wire/job.h"

#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "wire/member.h"

const char *const wire_search_names[] = {
    [POLLUX_EXACT] = "exact",
    [POLLUX_REFERENCE] = "reference",
};

static const struct wire_member model_members[] = {
    {WIRE_MEMBER (pollux_model, alpha_grad, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, beta_grad, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, alpha_node, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, beta_node, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, alpha_local, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, beta_local, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (pollux_model, gamma, WIRE_DOUBLE), .min = 1, .max = MODEL_GAMMA_LIMIT},
    {0},
};
_Static_assert(sizeof (model_members) / sizeof (model_members[0]) - 1 ==
                   sizeof (struct pollux_model) / sizeof (double),
               "every parameter of the model is in the table");

static const struct wire_member grad_members[] = {
    {WIRE_MEMBER (pollux_grad, sqr, WIRE_DOUBLE), .max = MODEL_GRAD_LIMIT},
    {WIRE_MEMBER (pollux_grad, var, WIRE_DOUBLE), .max = MODEL_GRAD_LIMIT},
    {0},
};

/* Fields of the job object itself.  0: no limit of the gain. */
static const struct wire_member job_members[] = {
    {WIRE_FIELD ("gain_max", wire_job, grad.gain_max, WIRE_DOUBLE), .optional = true, .min = 1,
     .max = MODEL_GAIN_LIMIT},
    {0},
};

/* An unknown batch is 0. */
#define BATCH .optional = true, .min = 1, .max = (double)POLLUX_BATCH_LIMIT
static const struct wire_member limits_members[] = {
    {WIRE_MEMBER (pollux_limits, init_batch, WIRE_INT64), BATCH},
    {WIRE_MEMBER (pollux_limits, max_batch, WIRE_INT64), BATCH},
    {WIRE_MEMBER (pollux_limits, min_local, WIRE_INT64), BATCH},
    {WIRE_MEMBER (pollux_limits, max_local, WIRE_INT64), BATCH},
    {WIRE_MEMBER (pollux_limits, accumulation, WIRE_BOOL), .optional = true},
    {0},
};

/* The rules between fields, which ranges cannot state.  Returns the field that breaks one, with the
 * reason in ret; NULL: the job keeps all rules. */
static const char *broken_rule (const struct wire_job *job, struct pollux_error *ret)
{
    const struct pollux_limits *limits = &job->limits;
    if (job->has_model && !model_takes_time (&job->model)) {
        fail (ret, 0, "expected alpha_grad or beta_grad above 0");
        return "model";
    }
    if (limits->max_batch && limits->max_batch < limits->init_batch) {
        fail (ret, 0, "expected at least init_batch (%lld)", (long long)limits->init_batch);
        return "max_batch";
    }
    if (limits->max_local && limits->max_local < limits->min_local) {
        fail (ret, 0, "expected at least min_local (%lld)", (long long)limits->min_local);
        return "max_local";
    }
    return NULL;
}

int wire_job_decode (const struct wire_place *place, struct wire_job *ret, struct pollux_error *err)
{
    struct wire_job job = {.has_model = wire_has (place, "model"),
                           .has_grad = wire_has (place, "grad")};
    struct wire_place model = wire_field (place, "model"), grad = wire_field (place, "grad");
    struct pollux_error why;
    const char *field;
    int code = wire_expect_object (place, err);
    if (code == 0 && job.has_model)
        code = wire_members_decode (model_members, &model, &job.model, err);
    if (code == 0 && job.has_grad)
        code = wire_members_decode (grad_members, &grad, &job.grad, err);
    if (code == 0)
        code = wire_members_decode (job_members, place, &job, err);
    if (code == 0)
        code = wire_members_decode (limits_members, place, &job.limits, err);
    if (code == 0 && (field = broken_rule (&job, &why))) {
        struct wire_place broken = wire_field (place, field);
        code = wire_fail (&broken, err, "%s", why.text);
    }
    if (code == 0)
        *ret = job;
    return code;
}

static int put_members (json_t *object, const char *key, const struct wire_member *members,
                        const void *base, struct pollux_error *err)
{
    json_t *inner = json_object ();
    int code = inner ? wire_members_encode (members, base, inner, err)
                     : fail (err, -ENOMEM, "%s: not enough memory", key);
    if (code == 0)
        return wire_put (object, key, inner, err);
    json_decref (inner);
    return code;
}

int wire_job_put (const struct wire_job *job, json_t *object, struct pollux_error *err)
{
    struct pollux_error why;
    const char *field = broken_rule (job, &why);
    int code = field ? fail (err, -EINVAL, "%s: %s", field, why.text) : 0;
    if (code == 0 && job->has_model)
        code = put_members (object, "model", model_members, &job->model, err);
    if (code == 0 && job->has_grad)
        code = put_members (object, "grad", grad_members, &job->grad, err);
    if (code == 0 && job->has_grad)
        code = wire_members_encode (job_members, job, object, err);
    if (code == 0)
        code = wire_members_encode (limits_members, &job->limits, object, err);
    /* wire_members_encode leaves out false; with a batch, false is written. */
    if (code == 0 && job->limits.init_batch && !job->limits.accumulation)
        code = wire_put (object, "accumulation", json_false (), err);
    return code;
}

json_t *wire_job_encode (const struct wire_job *job)
{
    json_t *object = json_object ();
    if (object && wire_job_put (job, object, NULL) == 0)
        return object;
    json_decref (object);
    return NULL;
}
