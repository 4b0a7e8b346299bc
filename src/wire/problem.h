/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduling problem as a document: the view of one decision.  The file says "gpus" and
 * "allocation"; they are read as slots and placement.
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
 * "version": 1 may come with it; other versions are refused (-EPROTO).  Required are a node's name and gpus, a job's name and max_replicas, and with a model also grad
 * and the four batch limits.  The goodput of a job with "model": null is its number of replicas.
 * p is a number up to 1, or "-inf"; policy_options, {name: number}, are other options of the policy.
 * allowed is "any", "pow2", {"multiple_of": n} or a list of counts; types and speeds are those of wire/spec.h.
 */
#ifndef WIRE_PROBLEM_H
#define WIRE_PROBLEM_H

#include "cluster/view.h"
#include "wire/json.h"

/* Of a problem that has no field version. */
enum { PROBLEM_VERSION = 1 };

/* 1 GiB: 2^20 jobs, the limit, of 1 KiB each. */
#define PROBLEM_LIMIT ((size_t)1 << 30)

enum { PROBLEM_NODES_LIMIT = 1 << 20, PROBLEM_JOBS_LIMIT = 1 << 20, PROBLEM_SLOTS_LIMIT = 1 << 20 };

/* Owns what the view borrows. */
struct problem {
    struct view view;
    struct node *nodes;
    struct job *jobs;
    const struct job **order; /* view.jobs */
};

/* Read a file ("-": standard input) or a text.  On success the caller owns *ret (problem_free).  On
 * failure err names line, column and field. */
int problem_read (const char *path, struct problem **ret, struct pollux_error *err);
int problem_parse (const char *name, const char *text, size_t length, struct problem **ret,
                   struct pollux_error *err);
void problem_free (struct problem *problem);

/* Encode a view; the caller owns the result (json_decref).  NULL: no memory.  Reading it gives the
 * same view, except for clock, seed and budget, which are not in the file. */
json_t *problem_encode (const struct view *view);

#endif
