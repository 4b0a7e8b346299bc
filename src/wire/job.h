/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job object: what is known of how a job trains.
 *
 *     {
 *       "model": {"alpha_grad": 0.03, "beta_grad": 0.001, "alpha_node": 0.08, "beta_node": 0.001,
 *                 "alpha_local": 0.01, "beta_local": 0.0005, "gamma": 1.6},
 *       "grad": {"sqr": 0.3, "var": 4.1},
 *       "init_batch": 128, "max_batch": 8192, "min_local": 16, "max_local": 512,
 *       "accumulation": true
 *     }
 *
 * Any of them may be missing or null: unknown.  The scheduler's fields of a job (its age, its
 * allocation, ...) are ignored here.
 */
#ifndef WIRE_JOB_H
#define WIRE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/json.h"

/* Of a file that holds one job object.  1 MiB: a job object takes less than 1 KiB; the rest is room for fields of other programs. */
#define WIRE_JOB_LIMIT ((size_t)1 << 20)

/* The ranges of numbers, so that no sum or product of them overflows: a step of 1e12 s takes
 * 30,000 years; fitted gammas are at most 10; a sum of two statistics stays finite. */
#define WIRE_TIME_LIMIT 1e12
#define WIRE_GAMMA_LIMIT 1e3
#define WIRE_GRAD_LIMIT 1e300

/* "exact" and "reference", by enum pollux_search. */
extern const char *const wire_search_names[];

/* How a job trains.  What the object does not say: has_model and has_grad false, limits 0,
 * accumulation false. */
struct wire_job {
    bool has_model, has_grad;
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits;
};

/* From a place in a document.  What is there must be legal, also together: batches that are
 * known are in order, a model's step takes time. */
int wire_job_decode (const struct wire_place *place, struct wire_job *ret,
                     struct pollux_error *err);

/* Add the known fields to an object, in the order above.  Decoding gives the same job, bit for
 * bit.  -EINVAL for a job that decoding would refuse, -ENOMEM. */
int wire_job_put (const struct wire_job *job, json_t *object, struct pollux_error *err);

/* The same as an object of its own, the caller's (json_decref).  NULL for any refusal. */
json_t *wire_job_encode (const struct wire_job *job);

#endif
