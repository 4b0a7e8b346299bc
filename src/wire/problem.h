/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduling problem as a document: a view, all that one decision depends on.
 *
 *     {
 *       "nodes": [{"name": "n0", "gpus": 4, "type": "a100", "available": true}],
 *       "p": -1, "restart_delay": 30, "batch_search": "exact",
 *       "jobs": [{
 *         "name": "a", "age": 600, "restarts": 1,
 *         "min_replicas": 0, "max_replicas": 16, "allowed": "any",
 *         "weight": 1, "preemptible": true, "restart_delay": 30, "remaining": 5000,
 *         "allocation": {"n0": 2},
 *         "model": {...}, "grad": {...}, "init_batch": 128, ...        (as in wire/job.h)
 *       }]
 *     }
 *
 * Needed are a node's name and gpus, a job's name and max_replicas, and with a model also grad
 * and the four batch limits.  "model": null is a job whose goodput is its number of replicas.  p is
 * a number up to 1, or "-inf"; policy_options, {name: number}, are other options of the policy.  allowed is "any", "pow2", {"multiple_of": n} or a list of counts.
 */
#ifndef WIRE_PROBLEM_H
#define WIRE_PROBLEM_H

#include "cluster/view.h"
#include "wire/json.h"

/* 1 GiB: a job takes 1 KiB, and the most jobs that can be scheduled are 2^20. */
#define PROBLEM_LIMIT ((size_t)1 << 30)

enum { PROBLEM_NODES_LIMIT = 1 << 20, PROBLEM_JOBS_LIMIT = 1 << 20, PROBLEM_SLOTS_LIMIT = 1 << 20 };

/* Owns what its view borrows. */
struct problem {
    struct view view;
    struct node *nodes;
    struct job *jobs;
    const struct job **order; /* view.jobs */
};

/* From a file ("-" is the standard input), or from text.  On success *ret belongs to the caller
 * (problem_free).  On failure *ret is untouched, and err names the place. */
int problem_read (const char *path, struct problem **ret, struct pollux_error *err);
int problem_parse (const char *name, const char *text, size_t length, struct problem **ret,
                   struct pollux_error *err);
void problem_free (struct problem *problem);

/* To a document; NULL: not enough memory, otherwise the caller's (json_decref).  Reading it gives
 * the same view, except for what a problem does not say: the clock, the seed and the budget. */
json_t *problem_encode (const struct view *view);

#endif
