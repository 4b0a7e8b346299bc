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
#include "wire/keys.h"
#include "wire/member.h"
#include "wire/submission.h"

const struct wire_member wire_spec_members[] = {
    {WIRE_MEMBER (job_spec, application, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (job_spec, ignore_experience, WIRE_BOOL), .optional = true},
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

/* ---- Types of nodes ----------------------------------------------------------------------- */

/* Copy the name of a type; refuse what cannot be one, or is among `count` names of the list, which are
 * `stride` bytes apart. */
static int decode_type (const struct wire_place *place, const char *name, const char *list,
                        int count, size_t stride, char ret[NAME_SIZE], struct pollux_error *err)
{
    if (!name && json_is_number (place->value))
        return wire_fail (place, err, "expected a type; a name of digits needs quotes");
    if (!name || !wire_is_job (name))
        return wire_fail (place, err, "expected a type of 1 to %d letters, digits, '.', '_' or '-'",
                          NAME_SIZE - 1);
    for (int i = 0; i < count; i++)
        if (strcmp (list + (size_t)i * stride, name) == 0)
            return wire_fail (place, err, "expected every type once");
    memset (ret, 0, NAME_SIZE);
    memcpy (ret, name, strlen (name));
    return 0;
}

static int decode_type_list (const struct wire_place *place, struct allowed_types *ret,
                             struct pollux_error *err)
{
    size_t size = json_array_size (place->value);
    int code = 0;
    if (!json_is_array (place->value) || size < 1 || size > SPEC_TYPES_LIMIT)
        return wire_fail (place, err, "expected a list of 1 to %d types", SPEC_TYPES_LIMIT);
    for (size_t i = 0; code == 0 && i < size; i++) {
        struct wire_place element = wire_element (place, i);
        code = decode_type (&element, json_string_value (element.value), ret->list[0], ret->count,
                            NAME_SIZE, ret->list[ret->count], err);
        ret->count++;
    }
    return code;
}

int wire_types_decode (const struct wire_place *place, struct allowed_types *ret,
                       struct pollux_error *err)
{
    static const char *const keys[] = {"except", NULL};
    struct allowed_types types = {0};
    const char *text = json_string_value (place->value);
    int code = 0;
    if (json_is_object (place->value)) {
        struct wire_place list = wire_field (place, "except");
        types.except = true;
        code = wire_expect_keys (place, keys, err);
        if (code == 0)
            code = decode_type_list (&list, &types, err);
    } else if (json_is_array (place->value)) {
        code = decode_type_list (place, &types, err);
    } else if (!text || strcmp (text, "any") != 0) {
        code = wire_fail (place, err,
                          "expected \"any\", a list of types or {\"except\": a list of types}");
    }
    if (code == 0)
        *ret = types;
    return code;
}

int wire_types_put (const struct allowed_types *types, json_t *object, struct pollux_error *err)
{
    if (types->count == 0)
        return 0; /* the default */
    json_t *list = json_array ();
    for (int i = 0; i < types->count; i++)
        if (json_array_append_new (list, json_string (types->list[i])) < 0) {
            json_decref (list);
            return fail (err, -ENOMEM, "types: not enough memory");
        }
    return wire_put (object, "types", types->except ? json_pack ("{s:o}", "except", list) : list,
                     err);
}

int wire_speeds_decode (const struct wire_place *place, struct type_speeds *ret,
                        struct pollux_error *err)
{
    struct type_speeds speeds = {0};
    struct wire_place speed;
    int code = 0;
    if (!json_is_object (place->value) || json_object_size (place->value) > SPEC_TYPES_LIMIT)
        return wire_fail (place, err, "expected a speed for each of at most %d types",
                          SPEC_TYPES_LIMIT);
    for (void *at = NULL; code == 0 && wire_each (place, &at, &speed);) {
        struct type_speed *next = &speeds.list[speeds.count];
        code = decode_type (&speed, speed.key, speeds.list[0].type, speeds.count,
                            sizeof (speeds.list[0]), next->type, err);
        next->speed = json_number_value (speed.value);
        if (code == 0 && !(json_is_number (speed.value) && next->speed >= WIRE_SPEED_LEAST &&
                           next->speed <= WIRE_SPEED_LIMIT))
            code = wire_fail (&speed, err, "expected a number from %g to %g", WIRE_SPEED_LEAST,
                              WIRE_SPEED_LIMIT);
        speeds.count++;
    }
    if (code == 0)
        *ret = speeds;
    return code;
}

int wire_speeds_put (const struct type_speeds *speeds, json_t *object, struct pollux_error *err)
{
    if (speeds->count == 0)
        return 0;
    json_t *map = json_object ();
    for (int i = 0; i < speeds->count; i++)
        if (json_object_set_new (map, speeds->list[i].type, json_real (speeds->list[i].speed)) <
            0) {
            json_decref (map);
            return fail (err, -ENOMEM, "speeds: not enough memory");
        }
    return wire_put (object, "speeds", map, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

int wire_spec_decode (const struct wire_place *object, struct job_spec *ret,
                      struct pollux_error *err)
{
    struct job_spec spec = *ret;
    spec.allowed = (struct allowed){.kind = ALLOWED_ANY};
    spec.types = (struct allowed_types){0};
    spec.speeds = (struct type_speeds){0};
    struct wire_place allowed = wire_field (object, "allowed");
    struct wire_place types = wire_field (object, "types"), speeds = wire_field (object, "speeds");
    int code = wire_members_decode (wire_spec_members, object, &spec, err);
    if (code == 0 && wire_has (object, "allowed"))
        code = wire_allowed_decode (&allowed, &spec.allowed, err);
    if (code == 0 && wire_has (object, "types"))
        code = wire_types_decode (&types, &spec.types, err);
    if (code == 0 && wire_has (object, "speeds"))
        code = wire_speeds_decode (&speeds, &spec.speeds, err);
    if (code == 0)
        *ret = spec;
    return code;
}

int wire_spec_put (const struct job_spec *spec, json_t *object, struct pollux_error *err)
{
    int code = wire_members_encode (wire_spec_members, spec, object, err);
    if (code == 0)
        code = wire_allowed_put (&spec->allowed, object, err);
    if (code == 0)
        code = wire_types_put (&spec->types, object, err);
    return code < 0 ? code : wire_speeds_put (&spec->speeds, object, err);
}
