/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode job specs: the owner's limits, and the allowed replica counts.
 */
#include "wire/spec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "wire/job.h"
#include "wire/member.h"

const struct wire_member wire_spec_members[] = {
    {WIRE_MEMBER (job_spec, application, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (job_spec, min_replicas, WIRE_INT), .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (job_spec, max_replicas, WIRE_INT), .min = 1, .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (job_spec, weight, WIRE_DOUBLE), .min = WIRE_WEIGHT_LEAST,
     .max = WIRE_WEIGHT_LIMIT},
    {WIRE_MEMBER (job_spec, preemptible, WIRE_BOOL)},
    {WIRE_MEMBER (job_spec, adaptive, WIRE_BOOL)},
    {WIRE_FIELD ("restart_delay", job_spec, restart_delay_s, WIRE_DOUBLE), .optional = true,
     .missing = NAN, .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (job_spec, fixed_replicas, WIRE_INT), .optional = true, .min = 1,
     .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (job_spec, fixed_batch, WIRE_INT64), .optional = true, .min = 1,
     .max = (double)POLLUX_BATCH_LIMIT},
    {0},
};

/* ---- Counts ------------------------------------------------------------------------------- */

/* Counts in any order, each once; stored in ascending order. */
static int decode_list (const struct wire_place *place, struct allowed *ret,
                        struct pollux_error *err)
{
    size_t size = json_array_size (place->value);
    if (size < 1 || size > ALLOWED_LIST_LIMIT)
        return wire_fail (place, err, "expected 1 to %d counts", ALLOWED_LIST_LIMIT);
    *ret = (struct allowed){.kind = ALLOWED_LIST};
    for (size_t i = 0; i < size; i++) {
        struct wire_place element = wire_element (place, i);
        json_int_t value = json_integer_value (element.value);
        if (!json_is_integer (element.value) || value < 1 || value > POLLUX_REPLICAS_LIMIT)
            return wire_fail (&element, err, "expected a count from 1 to %d",
                              POLLUX_REPLICAS_LIMIT);
        int at = ret->count;
        for (; at > 0 && ret->list[at - 1] > value; at--)
            ret->list[at] = ret->list[at - 1];
        if (at > 0 && ret->list[at - 1] == value)
            return wire_fail (&element, err, "expected every count once");
        ret->list[at] = (int)value;
        ret->count++;
    }
    return 0;
}

int wire_allowed_decode (const struct wire_place *place, struct allowed *ret,
                         struct pollux_error *err)
{
    struct allowed allowed = {.kind = ALLOWED_ANY};
    const char *text = json_string_value (place->value);
    int64_t multiple = 0;
    int code = 0;
    if (json_is_array (place->value)) {
        code = decode_list (place, &allowed, err);
    } else if (json_is_object (place->value)) {
        code = wire_int64 (place, "multiple_of", 1, POLLUX_REPLICAS_LIMIT, &multiple, err);
        allowed.kind = ALLOWED_MULTIPLE;
        allowed.multiple = (int)multiple;
    } else if (text && strcmp (text, "pow2") == 0) {
        allowed.kind = ALLOWED_POW2;
    } else if (!text || strcmp (text, "any") != 0) {
        code = wire_fail (place, err,
                          "expected \"any\", \"pow2\", {\"multiple_of\": N} or a list of counts");
    }
    if (code == 0)
        *ret = allowed;
    return code;
}

static json_t *encode_list (const struct allowed *allowed)
{
    json_t *list = json_array ();
    for (int i = 0; i < allowed->count; i++)
        if (json_array_append_new (list, json_integer (allowed->list[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

static int check_allowed (const struct allowed *allowed, struct pollux_error *err)
{
    if (allowed->kind == ALLOWED_MULTIPLE &&
        (allowed->multiple < 1 || allowed->multiple > POLLUX_REPLICAS_LIMIT))
        return fail (err, -EINVAL, "allowed: expected multiples of 1 to %d, got %d",
                     POLLUX_REPLICAS_LIMIT, allowed->multiple);
    if (allowed->kind != ALLOWED_LIST)
        return 0;
    if (allowed->count < 1 || allowed->count > ALLOWED_LIST_LIMIT)
        return fail (err, -EINVAL, "allowed: expected 1 to %d counts, got %d", ALLOWED_LIST_LIMIT,
                     allowed->count);
    for (int i = 0; i < allowed->count; i++)
        if (allowed->list[i] <= (i ? allowed->list[i - 1] : 0) ||
            allowed->list[i] > POLLUX_REPLICAS_LIMIT)
            return fail (err, -EINVAL, "allowed: expected ascending counts, got %d",
                         allowed->list[i]);
    return 0;
}

int wire_allowed_put (const struct allowed *allowed, json_t *object, struct pollux_error *err)
{
    int code = check_allowed (allowed, err);
    if (code < 0)
        return code;
    switch (allowed->kind) {
    case ALLOWED_ANY:
        break; /* the default */
    case ALLOWED_POW2:
        return wire_put (object, "allowed", json_string ("pow2"), err);
    case ALLOWED_MULTIPLE:
        return wire_put (object, "allowed", json_pack ("{s:i}", "multiple_of", allowed->multiple),
                         err);
    case ALLOWED_LIST:
        return wire_put (object, "allowed", encode_list (allowed), err);
    }
    return 0;
}

/* ---- The whole ---------------------------------------------------------------------------- */

int wire_spec_decode (const struct wire_place *object, struct job_spec *ret,
                      struct pollux_error *err)
{
    struct job_spec spec = *ret;
    spec.allowed = (struct allowed){.kind = ALLOWED_ANY};
    struct wire_place allowed = wire_field (object, "allowed");
    int code = wire_members_decode (wire_spec_members, object, &spec, err);
    if (code == 0 && wire_has (object, "allowed"))
        code = wire_allowed_decode (&allowed, &spec.allowed, err);
    if (code == 0)
        *ret = spec;
    return code;
}

int wire_spec_put (const struct job_spec *spec, json_t *object, struct pollux_error *err)
{
    int code = wire_members_encode (wire_spec_members, spec, object, err);
    return code < 0 ? code : wire_allowed_put (&spec->allowed, object, err);
}
