/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all runs of a backend whose run directories are in the state directory. */
#ifndef BACKEND_RUN_SETTINGS_H
#define BACKEND_RUN_SETTINGS_H

#include "backend/backend.h"
#include "backend/kept_logs.h"

struct run_settings {
    int root;        /* descriptor of STATE/run; -1: not opened */
    char *directory; /* STATE/run */
    char *program, *checkpoints;
    char *url, *ca;     /* NULL: none */
    char **environment; /* of all replicas, before the job's own; NULL at the end */
    int keep_jobs;      /* ended jobs whose logs are kept */
    struct kept_logs kept;
    int exits; /* reported so far */
    int (*token) (void *self, const char *job, int generation, char *ret, size_t size);
    void *self; /* of token */
};

/* Copy them from the options, and open STATE/run.  run_settings_clear undoes it, also after a failure and
 * with root -1 and zeros. */
int run_settings_init (struct run_settings *settings, const struct backend_options *options,
                       struct pollux_error *err);
void run_settings_clear (struct run_settings *settings);

/* The token with which the supervisors of a generation report, written to ret; NULL: they send nothing or need
 * none. */
const char *run_settings_token (const struct run_settings *settings, const char *job,
                                int generation, char *ret, size_t size);

#endif
