/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carriers do with a generation's directory.  A failure is no reason to stop the work: it is logged.
 */
#include "backend/generation_files.h"

#include <errno.h>
#include <syslog.h>

#include "backend/old_jobs.h"
#include "backend/run_settings.h"

void generation_mark_stop (const struct generation_set *set, int root,
                           const struct generation *generation)
{
    struct pollux_error err = {.text = ""};
    int code = run_mark_stop (root, generation->name, generation->number, &err);
    if (code < 0 && code != -ENOENT)
        generation_log (set, LOG_WARNING, "job %s: %s", generation->name, err.text);
}

void generation_remove_old (const struct generation_set *set, int root, const char *job, int number)
{
    struct pollux_error err;
    if (run_remove (root, job, number, &err) < 0)
        generation_log (set, LOG_WARNING, "job %s: old logs are not removed: %s", job, err.text);
}

static void remove_old (void *self, const char *job, int number)
{
    const struct generation_set *set = self;
    generation_remove_old (set, set->runs->root, job, number);
}

bool generation_keep_logs (const struct generation_set *set, const struct generation *generation)
{
    struct run_settings *runs = set->runs;
    kept_logs_ended (&runs->kept, runs->root, generation->name, generation->job, generation->number,
                     remove_old, (void *)set);
    return ++runs->exits % OLD_JOBS_EXITS == 0;
}
