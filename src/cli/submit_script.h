/* SPDX-License-Identifier: Apache-2.0 */
/* A Python script as a job: `pollux submit train.py`. */
#ifndef CLI_SUBMIT_SCRIPT_H
#define CLI_SUBMIT_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/options.h"

/* Whether a word is a Python script: by its name, or by its first line. */
bool submit_script_is (const char *word);

/* The command of a job that is this script with count arguments; the job is adaptive and started
 * by env, unless its fields say otherwise already.  -ENOENT: no such file, or no python3 on PATH. */
int submit_script_take (json_t *job, const char *script, char **arguments, int count,
                        struct pollux_error *err);

/* An option was refused.  If there is a script on the line, it may have been meant for that: say
 * how it gets there. */
void submit_script_hint (const struct options *options, struct pollux_error *err);

#endif
