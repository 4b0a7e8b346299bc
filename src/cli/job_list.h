/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's jobs: all pages of them as one array, and as a table. */
#ifndef CLI_JOB_LIST_H
#define CLI_JOB_LIST_H

#include "cli/client.h"
#include "cli/terminal.h"

/* Which jobs.  Phases are names with commas between them, or "live"; NULL: any.  recent: live ones,
 * and those that have ended within the last hour. */
struct job_list_filter {
    const char *phase, *owner;
    bool recent;
};

/* Get them, page after page, in order of submission.  *ret is an array, the caller's. */
int job_list_get (struct client *client, const struct job_list_filter *filter, json_t **ret,
                  struct pollux_error *err);

/* Print a table of them, which have been disarmed; a sentence if there are none. */
int job_list_print (const json_t *jobs, struct terminal terminal, FILE *out,
                    struct pollux_error *err);

#endif
