/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/command.h"

/* A command line on its way through getopt_long.  One at a time: getopt has global state. */
struct options {
    const struct command *command;
    int argc;
    char **argv;                     /* argv[0] is the subcommand's name */
    bool under_way;                  /* options_next has been called */
    const struct command_option *at; /* the option that options_next returned last */
    const char *argument;            /* and its argument, or NULL: none was given */
};

/* The id of the next option, 0 behind the last one, -EINVAL for one that is not known or lacks
 * its argument; the next call goes on behind that. */
int options_next (struct options *options, struct pollux_error *err);

/* The current option's argument as a number in min..max. */
int options_int64 (const struct options *options, int64_t min, int64_t max, int64_t *ret,
                   struct pollux_error *err);
int options_double (const struct options *options, double min, double max, double *ret,
                    struct pollux_error *err);

/* The current option's argument as one of count names: its index. */
int options_choice (const struct options *options, const char *const *names, size_t count,
                    size_t *ret, struct pollux_error *err);

/* The one operand that must stand beside the options, after all of those have been taken. */
int options_operand (const struct options *options, const char **ret, struct pollux_error *err);

/* All operands beside the options, after those have been taken: how many there are. */
int options_operands (const struct options *options, char ***ret);

/* How many of the operands stood behind a "--"; those are the last ones.  From the line as it was
 * typed: to be asked before the first options_next. */
int options_behind_dashes (const struct options *options);

/* The whole text of `pollux NAME --help`. */
void options_help (const struct command *command, FILE *out);

#endif
