/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job objects to structs and back.  The parameters of a model are named once, in a table that
 * both directions use.
 */
#include "wire/job.h"

#include <errno.h>
#include <stddef.h>

#include "base/error.h"

static const struct {
    const char *key;
    size_t offset; /* of a double in struct pollux_model */
    double min, max;
} parameters[] = {
    {"alpha_grad", offsetof (struct pollux_model, alpha_grad), 0, WIRE_TIME_LIMIT},
    {"beta_grad", offsetof (struct pollux_model, beta_grad), 0, WIRE_TIME_LIMIT},
    {"alpha_node", offsetof (struct pollux_model, alpha_node), 0, WIRE_TIME_LIMIT},
    {"beta_node", offsetof (struct pollux_model, beta_node), 0, WIRE_TIME_LIMIT},
    {"alpha_local", offsetof (struct pollux_model, alpha_local), 0, WIRE_TIME_LIMIT},
    {"beta_local", offsetof (struct pollux_model, beta_local), 0, WIRE_TIME_LIMIT},
    {"gamma", offsetof (struct pollux_model, gamma), 1, WIRE_GAMMA_LIMIT},
};
#define PARAMETERS (sizeof (parameters) / sizeof (parameters[0]))
_Static_assert(PARAMETERS * sizeof (double) == sizeof (struct pollux_model),
               "every parameter of the model is in the table");

static const struct {
    const char *key;
    size_t offset; /* of an int64_t in struct pollux_limits */
} batches[] = {
    {"init_batch", offsetof (struct pollux_limits, init_batch)},
    {"max_batch", offsetof (struct pollux_limits, max_batch)},
    {"min_local", offsetof (struct pollux_limits, min_local)},
    {"max_local", offsetof (struct pollux_limits, max_local)},
};
#define BATCHES (sizeof (batches) / sizeof (batches[0]))

/* The member of a struct that a row of the tables means. */
static void *member (void *base, size_t offset)
{
    return (char *)base + offset;
}

static const void *const_member (const void *base, size_t offset)
{
    return (const char *)base + offset;
}

static int decode_model (const struct wire_place *place, struct pollux_model *ret,
                         struct pollux_error *err)
{
    int code = wire_expect_object (place, err);
    for (size_t i = 0; code == 0 && i < PARAMETERS; i++)
        code = wire_double (place, parameters[i].key, parameters[i].min, parameters[i].max,
                            member (ret, parameters[i].offset), err);
    if (code == 0 && !(ret->alpha_grad + ret->beta_grad > 0))
        code = wire_fail (place, err, "expected alpha_grad or beta_grad above 0");
    return code;
}

static int decode_grad (const struct wire_place *place, struct pollux_grad *ret,
                        struct pollux_error *err)
{
    int code = wire_expect_object (place, err);
    if (code == 0)
        code = wire_double (place, "sqr", 0, WIRE_GRAD_LIMIT, &ret->sqr, err);
    if (code == 0)
        code = wire_double (place, "var", 0, WIRE_GRAD_LIMIT, &ret->var, err);
    return code;
}

static int decode_limits (const struct wire_place *place, struct pollux_limits *ret,
                          struct pollux_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < BATCHES; i++) {
        if (wire_has (place, batches[i].key))
            code = wire_int64 (place, batches[i].key, 1, POLLUX_BATCH_LIMIT,
                               member (ret, batches[i].offset), err);
    }
    if (code == 0 && ret->max_batch && ret->max_batch < ret->init_batch) {
        struct wire_place max = wire_field (place, "max_batch");
        code = wire_fail (&max, err, "expected at least init_batch (%lld)",
                          (long long)ret->init_batch);
    }
    if (code == 0 && ret->max_local && ret->max_local < ret->min_local) {
        struct wire_place max = wire_field (place, "max_local");
        code =
            wire_fail (&max, err, "expected at least min_local (%lld)", (long long)ret->min_local);
    }
    if (code == 0 && wire_has (place, "accumulation"))
        code = wire_bool (place, "accumulation", &ret->accumulation, err);
    return code;
}

int wire_job_decode (const struct wire_place *place, struct wire_job *ret, struct pollux_error *err)
{
    struct wire_job job = {.has_model = wire_has (place, "model"),
                           .has_grad = wire_has (place, "grad")};
    struct wire_place model = wire_field (place, "model"), grad = wire_field (place, "grad");
    int code = wire_expect_object (place, err);
    if (code == 0 && job.has_model)
        code = decode_model (&model, &job.model, err);
    if (code == 0 && job.has_grad)
        code = decode_grad (&grad, &job.grad, err);
    if (code == 0)
        code = decode_limits (place, &job.limits, err);
    if (code == 0)
        *ret = job;
    return code;
}

int wire_job_read (const char *path, struct wire_job *ret, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_read (path, WIRE_JOB_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = wire_job_decode (&root, ret, err);
    wire_document_free (document);
    return code;
}

json_t *wire_job_encode (const struct wire_job *job)
{
    json_t *object = json_object ();
    int failed = !object;
    if (job->has_model) {
        json_t *model = json_object ();
        for (size_t i = 0; i < PARAMETERS; i++) {
            const double *value = const_member (&job->model, parameters[i].offset);
            failed |= json_object_set_new (model, parameters[i].key, json_real (*value));
        }
        failed |= json_object_set_new (object, "model", model);
    }
    if (job->has_grad)
        failed |= json_object_set_new (
            object, "grad", json_pack ("{s:f,s:f}", "sqr", job->grad.sqr, "var", job->grad.var));
    for (size_t i = 0; i < BATCHES; i++) {
        const int64_t *value = const_member (&job->limits, batches[i].offset);
        if (*value)
            failed |= json_object_set_new (object, batches[i].key, json_integer (*value));
    }
    if (job->limits.accumulation || job->limits.init_batch)
        failed |=
            json_object_set_new (object, "accumulation", json_boolean (job->limits.accumulation));
    if (!failed)
        return object;
    json_decref (object);
    return NULL;
}
