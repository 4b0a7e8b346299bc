/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job's owner says, and what its agent reports, as fields of an object.
 *
 *     {
 *       "application": "cifar10", "min_replicas": 0, "max_replicas": 64, "allowed": "pow2",
 *       "weight": 1, "preemptible": true, "adaptive": true, "restart_delay": 30,
 *       "fixed_replicas": 4, "fixed_batch": 512
 *     }
 *
 * allowed is "any", "pow2", {"multiple_of": 4} or a list of counts.  What may be
 * missing: application, allowed ("any"), restart_delay (the cluster's), the fixed request.
 * The hints are the job object of job.h with three fields more, all of which may be missing:
 *
 *     {"model": {...}, "grad": {...}, "init_batch": 128, ..., "accumulation": true,
 *      "max_profiled_replicas": 4, "progress": 1000.5, "total": 20000}
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

/* The plain fields of struct job_spec: all but the name and the allowed counts. */
extern const struct wire_member wire_spec_members[];

/* All but the name, which is said elsewhere.  ret->name is left as it is. */
int wire_spec_decode (const struct wire_place *object, struct job_spec *ret,
                      struct pollux_error *err);
int wire_spec_put (const struct job_spec *spec, json_t *object, struct pollux_error *err);

/* Which replica counts a job can run with: the value of a field "allowed". */
int wire_allowed_decode (const struct wire_place *place, struct allowed *ret,
                         struct pollux_error *err);
int wire_allowed_put (const struct allowed *allowed, json_t *object, struct pollux_error *err);

/* Hints have the model and the statistics or neither; with a model also the four limits, all of
 * them or none. */
int wire_hints_decode (const struct wire_place *object, struct hints *ret,
                       struct pollux_error *err);
int wire_hints_put (const struct hints *hints, json_t *object, struct pollux_error *err);

#endif
