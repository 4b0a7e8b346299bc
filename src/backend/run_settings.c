/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the settings.  Paths become absolute: supervisors have other working directories.
 */
#define _GNU_SOURCE /* asprintf */
#include "backend/run_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/old_jobs.h"
#include "backend/run.h"
#include "backend/run_spec.h"
#include "base/error.h"
#include "base/file.h"

static int copy_texts (struct run_settings *settings, const struct backend_options *options,
                       struct pollux_error *err)
{
    char state[PATH_MAX], program[PATH_MAX];
    if (!realpath (options->state, state))
        return fail (err, -errno, "%s: %s", file_name (options->state).text, strerror (errno));
    if (!realpath (options->program, program))
        return fail (err, -errno, "%s: %s", file_name (options->program).text, strerror (errno));
    if (asprintf (&settings->directory, "%s/run", state) < 0)
        settings->directory = NULL;
    if (options->checkpoints)
        settings->checkpoints = strdup (options->checkpoints);
    else if (asprintf (&settings->checkpoints, "%s/checkpoints", state) < 0)
        settings->checkpoints = NULL;
    settings->program = strdup (program);
    settings->url = options->url ? strdup (options->url) : NULL;
    settings->ca = options->ca ? strdup (options->ca) : NULL;
    settings->environment = run_spec_environment ();
    if (!settings->directory || !settings->checkpoints || !settings->program ||
        !settings->environment || (options->url && !settings->url) ||
        (options->ca && !settings->ca))
        return fail (err, -ENOMEM, "no memory for the backend");
    return 0;
}

int run_settings_init (struct run_settings *settings, const struct backend_options *options,
                       struct pollux_error *err)
{
    *settings = (struct run_settings){
        .root = -1,
        .keep_jobs = options->keep_jobs ? options->keep_jobs : OLD_JOBS_KEEP,
        .kept = {.limit = options->log_limit ? options->log_limit : RUN_JOB_LOG_DEFAULT},
        .token = options->token,
        .self = options->self,
    };
    int code = copy_texts (settings, options, err);
    return code < 0 ? code : run_root_open (options->state, &settings->root, err);
}

void run_settings_clear (struct run_settings *settings)
{
    free (settings->directory);
    free (settings->program);
    free (settings->checkpoints);
    free (settings->url);
    free (settings->ca);
    run_spec_free (settings->environment);
    kept_logs_clear (&settings->kept);
    if (settings->root >= 0)
        close (settings->root);
}

const char *run_settings_token (const struct run_settings *settings, const char *job,
                                int generation, char *ret, size_t size)
{
    bool has = settings->url && settings->token &&
               settings->token (settings->self, job, generation, ret, size) == 0;
    return has ? ret : NULL;
}
