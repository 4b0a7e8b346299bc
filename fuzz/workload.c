/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: workloads.  An accepted workload satisfies workload.h, and is the same after it was
 * written and read again.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static const struct ground_truth *built_in (void)
{
    static struct ground_truth *truth; /* for the whole run */
    if (!truth && ground_truth_from_profiles (NULL, &truth, NULL) < 0)
        abort ();
    return truth;
}

static void check (const struct workload *workload)
{
    if (workload->count < 1)
        abort ();
    for (int i = 0; i < workload->count; i++) {
        const struct workload_job *job = &workload->jobs[i];
        const struct pollux_limits *limits = app_limits (job->app);
        if (!(job->submit_s >= 0 && job->submit_s <= WORKLOAD_TIME_LIMIT) || job->replicas < 1 ||
            job->batch < limits->init_batch || job->batch > limits->max_batch ||
            job->batch / job->replicas < limits->min_local || !job->name[0])
            abort ();
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct workload workload, again;
    struct pollux_error err = {.text = ""};
    if (workload_parse ("fuzz", (const char *)data, size, built_in (), &workload, &err) < 0) {
        if (strncmp (err.text, "fuzz", 4) != 0)
            abort ();
        return 0;
    }
    check (&workload);
    char *text;
    size_t length;
    FILE *out = open_memstream (&text, &length);
    if (!out || workload_write (&workload, out, NULL) < 0)
        abort ();
    fclose (out);
    if (workload_parse ("again", text, length, built_in (), &again, &err) < 0 ||
        again.count != workload.count ||
        memcmp (again.jobs, workload.jobs, (size_t)again.count * sizeof *again.jobs) != 0)
        abort ();
    free (text);
    workload_clear (&again);
    workload_clear (&workload);
    return 0;
}
