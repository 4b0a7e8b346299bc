/* SPDX-License-Identifier: Apache-2.0 */
/* Get the daemon's jobs as one array, and print them as a table. */
#ifndef CLI_JOB_LIST_H
#define CLI_JOB_LIST_H

#include "cli/client.h"
#include "cli/terminal.h"

/* A filter.  phase: names separated by commas, or "live"; NULL: any.  recent: live jobs and those that
 * ended within the last hour. */
struct job_list_filter {
    const char *phase, *owner;
    bool recent;
};

/* Get all pages, in order of submission.  *ret is an array and belongs to the caller. */
int job_list_get (struct client *client, const struct job_list_filter *filter, json_t **ret,
                  struct pollux_error *err);

/* Print a table of jobs (disarmed, see answer_text.h), or a sentence if there are none.  cost: with what their slots
 * have cost. */
int job_list_print (const json_t *jobs, bool cost, struct terminal terminal, FILE *out,
                    struct pollux_error *err);

#endif
