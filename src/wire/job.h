/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job object: how a job trains.
 *
 *     {
 *       "model": {"alpha_grad": 0.03, "beta_grad": 0.001, "alpha_node": 0.08, "beta_node": 0.001,
 *                 "alpha_local": 0.01, "beta_local": 0.0005, "gamma": 1.6},
 *       "grad": {"sqr": 0.3, "var": 4.1}, "gain_max": 8,
 *       "init_batch": 128, "max_batch": 8192, "min_local": 16, "max_local": 512,
 *       "accumulation": true
 *     }
 *
 * Every field may be missing or null: unknown, and for gain_max no limit.  Other fields are ignored.  Numbers have the ranges
 * of model/ranges.h.
 */
#ifndef WIRE_JOB_H
#define WIRE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "model/ranges.h"
#include "wire/json.h"

/* Largest file with one job object, in bytes.  A job object takes less than 1 KiB; the rest is room
 * for fields of other programs. */
#define WIRE_JOB_LIMIT ((size_t)1 << 20)

/* "exact" and "reference", by enum pollux_search. */
extern const char *const wire_search_names[];

/* Unknown: has_model or has_grad is false, a limit is 0, accumulation is false. */
struct wire_job {
    bool has_model, has_grad;
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits;
};

/* Decode the object at a place in a document.  -EINVAL for a number outside its range, a maximum
 * below its minimum, or a model with alpha_grad + beta_grad = 0. */
int wire_job_decode (const struct wire_place *place, struct wire_job *ret,
                     struct pollux_error *err);

/* Add the known fields to an object, in the order above.  Decoding them gives the same job, bit for
 * bit.  -EINVAL for a job that decoding would refuse, -ENOMEM. */
int wire_job_put (const struct wire_job *job, json_t *object, struct pollux_error *err);

/* The same as a new object, which the caller owns (json_decref).  NULL on failure. */
json_t *wire_job_encode (const struct wire_job *job);

#endif
