/* SPDX-License-Identifier: Apache-2.0 */
/* A Python script as a job: `pollux submit train.py`. */
#ifndef CLI_SUBMIT_SCRIPT_H
#define CLI_SUBMIT_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/options.h"

/* True if a file is a Python script, by its name or its first line. */
bool submit_script_is (const char *word);

/* Set the job's command to this script with count arguments.  The job becomes adaptive with launcher
 * env unless these fields are set.  -ENOENT: no such file, or no python3 on PATH. */
int submit_script_take (json_t *job, const char *script, char **arguments, int count,
                        struct pollux_error *err);

/* After a refused option: if the line has a script, the option may be meant for it.  Adds a hint to
 * the message. */
void submit_script_hint (const struct options *options, struct pollux_error *err);

#endif
