/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of Slurm, as scontrol and --version write them. */
#ifndef BACKEND_SLURM_SETTINGS_H
#define BACKEND_SLURM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a line "KEY   = VALUE" (scontrol show config), without blanks at both ends; cut to the size.
 * "(null)" is "".  False: there is no such line; *ret is "". */
bool slurm_config_value (const char *text, size_t length, const char *key, char *ret, size_t size);

/* The value of a word "KEY=VALUE" in one line (scontrol show job -o); it ends at a blank.  False: there is none;
 * *ret is "". */
bool slurm_word_value (const char *text, size_t length, const char *key, char *ret, size_t size);

/* An entry of a list with commas, "a=1,b" (SchedulerParameters): its value, "" if it has none.  False: it is
 * not there; *ret is "". */
bool slurm_list_value (const char *list, const char *key, char *ret, size_t size);

/* The year and month of a version: "slurm-wlm 22.05.8" is 2205.  0: it is no version. */
int slurm_version (const char *text, size_t length);

#endif
