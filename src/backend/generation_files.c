/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carriers do with a generation's directory.  A failure is no reason to stop the work: it is logged.
 */
#include "backend/generation_files.h"

#include <errno.h>
#include <syslog.h>

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
