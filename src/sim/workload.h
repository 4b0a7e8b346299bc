/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads: which jobs are submitted when, as in the published CSV format
 *     name,time,application,num_replicas,batch_size
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdio.h>

#include "cluster/node.h"
#include "sim/ground_truth.h"

struct workload_job {
    char name[NAME_SIZE];
    double submit_s;
    const struct app *app; /* of the ground truth that the workload was read with */
    int replicas;          /* requested, >= 1 */
    int64_t batch;         /* requested total batch, M0..Mmax, at least min_local per replica */
};

/* Jobs in the order of the file, which need not be that of submission. */
struct workload {
    struct workload_job *jobs;
    int count; /* >= 1 */
};

/* 2^20 jobs: 100 MB, about a month of the largest clusters. */
#define WORKLOAD_JOBS_LIMIT (1 << 20)
/* 1e9 s, thirty years: microseconds of it are exact in an int64_t and nearly so in a double. */
#define WORKLOAD_TIME_LIMIT 1e9

/* Read a workload; truth must outlive it.  On success *ret belongs to the caller (workload_clear).
 * -EINVAL names file and line: a missing column or field, an unknown application, a negative time, a
 * repeated name, no replicas, a batch outside the application's limits, a file that ends within a
 * row. */
int workload_read (const char *path, const struct ground_truth *truth, struct workload *ret,
                   struct pollux_error *err);

/* The same from memory; name stands for the file in messages. */
int workload_parse (const char *name, const char *text, size_t length,
                    const struct ground_truth *truth, struct workload *ret,
                    struct pollux_error *err);

/* Write it so that workload_read gives it back.  -errno of the stream. */
int workload_write (const struct workload *workload, FILE *out, struct pollux_error *err);

/* Free what it holds. */
void workload_clear (struct workload *workload);

#endif
