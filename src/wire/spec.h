/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's spec (from its owner) and its hints (from its agent), as fields of an object.
 *
 *     {
 *       "application": "cifar10", "min_replicas": 0, "max_replicas": 64, "allowed": "pow2",
 *       "weight": 1, "preemptible": true, "adaptive": true, "restart_delay": 30,
 *       "fixed_replicas": 4, "fixed_batch": 512, "types": ["a100", "h100"],
 *       "speeds": {"t4": 1, "a100": 4.5}
 *     }
 *
 * allowed is "any", "pow2", {"multiple_of": 4} or a list of counts; types a list of types, {"except": [...]}, or
 * "any".  Optional: application, allowed ("any"), types ("any"), speeds (none), restart_delay (default: the
 * cluster's), fixed_replicas, fixed_batch.
 * Hints are the job object of job.h with more optional fields:
 *
 *     {"model": {...}, "grad": {...}, "init_batch": 128, ..., "accumulation": true,
 *      "max_profiled_replicas": 4, "progress": 1000.5, "total": 20000, "type": "a100",
 *      "models": [{"type": "t4", "model": {...}, "max_local": 12, "max_profiled_replicas": 2}]}
 *
 * models, of other types, needs model and type.  Other fields of its elements are ignored, except `plan`: a later version
 * may tell several models of a type apart by it, so that elements with a plan are skipped.
 */
#ifndef WIRE_SPEC_H
#define WIRE_SPEC_H

#include "cluster/job.h"
#include "model/ranges.h"
#include "wire/json.h"
#include "wire/member.h"

/* Range of weights: ratios of two weights and sums over a million jobs keep their precision. */
#define WIRE_WEIGHT_LEAST 1e-9
#define WIRE_WEIGHT_LIMIT 1e9

/* Rows for the limits of a job and its weight, which are members of `limits`, a member of the type. */
#define WIRE_LIMITS_ROWS(type, limits)                                                             \
    {WIRE_FIELD ("min_replicas", type, limits.min_replicas, WIRE_INT),                             \
     .max = POLLUX_REPLICAS_LIMIT},                                                                \
        {WIRE_FIELD ("max_replicas", type, limits.max_replicas, WIRE_INT), .min = 1,               \
         .max = POLLUX_REPLICAS_LIMIT},                                                            \
    {                                                                                              \
        WIRE_FIELD ("weight", type, limits.weight, WIRE_DOUBLE), .min = WIRE_WEIGHT_LEAST,         \
                                                                 .max = WIRE_WEIGHT_LIMIT          \
    }

/* Range of an owner's speeds: a ratio of two keeps times within the range of a model. */
#define WIRE_SPEED_LEAST 1e-3
#define WIRE_SPEED_LIMIT 1e3

/* All fields of struct job_spec except the name, the allowed counts, types and speeds. */
extern const struct wire_member wire_spec_members[];

/* All fields except the name, which is stored elsewhere; ret->name does not change. */
int wire_spec_decode (const struct wire_place *object, struct job_spec *ret,
                      struct pollux_error *err);
int wire_spec_put (const struct job_spec *spec, json_t *object, struct pollux_error *err);

/* The value of a field "allowed". */
int wire_allowed_decode (const struct wire_place *place, struct allowed *ret,
                         struct pollux_error *err);
int wire_allowed_put (const struct allowed *allowed, json_t *object, struct pollux_error *err);

/* The values of the fields "types" and "speeds". */
int wire_types_decode (const struct wire_place *place, struct allowed_types *ret,
                       struct pollux_error *err);
int wire_types_put (const struct allowed_types *types, json_t *object, struct pollux_error *err);
int wire_speeds_decode (const struct wire_place *place, struct type_speeds *ret,
                        struct pollux_error *err);
int wire_speeds_put (const struct type_speeds *speeds, json_t *object, struct pollux_error *err);

/* model and grad come together; with them all four limits are required.  Without a model, limits
 * come all four or not at all. */
int wire_hints_decode (const struct wire_place *object, struct hints *ret,
                       struct pollux_error *err);
int wire_hints_put (const struct hints *hints, json_t *object, struct pollux_error *err);

/* -EINVAL: a step with the largest local batch takes a time that no machine has.  For agents' reports and problems;
 * journals of older software may have such models. */
int wire_hints_check (const struct wire_place *object, const struct hints *hints,
                      struct pollux_error *err);

/* The field "models" alone: into hints that have all other fields, and from them. */
int wire_other_models_decode (const struct wire_place *object, struct hints *hints,
                              struct pollux_error *err);
int wire_other_models_put (const struct hints *hints, json_t *object, struct pollux_error *err);

#endif
