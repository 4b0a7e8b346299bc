/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_POLICY_OPTIONS_HELP_H
#define CLI_POLICY_OPTIONS_HELP_H

#include <stdio.h>

/* All policies and their options, from their tables, for --help. */
void policy_options_help (FILE *out);

#endif
