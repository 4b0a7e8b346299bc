/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/command.h"

/* A command line that is being parsed.  Only one at a time: getopt has global state. */
struct options {
    const struct command *command;
    int argc;
    char **argv;                     /* argv[0] is the subcommand's name */
    bool under_way;                  /* options_next has been called */
    const struct command_option *at; /* the option that options_next returned last */
    const char *argument;            /* its argument; NULL: none */
};

/* The id of the next option; 0 after the last one.  -EINVAL: it is unknown or its argument is
 * missing; the next call continues after it. */
int options_next (struct options *options, struct pollux_error *err);

/* Read all options: call take, which returns 0 or a negative errno value, with each one, its id and ret. */
typedef int options_take (void *ret, int id, const struct options *options,
                          struct pollux_error *err);
int options_each (struct options *options, options_take *take, void *ret, struct pollux_error *err);

/* The current option's argument as a number in min..max; also -inf, if min is -INFINITY. */
int options_int64 (const struct options *options, int64_t min, int64_t max, int64_t *ret,
                   struct pollux_error *err);
int options_double (const struct options *options, double min, double max, double *ret,
                    struct pollux_error *err);

/* The current option's argument as one of count names: its index. */
int options_choice (const struct options *options, const char *const *names, size_t count,
                    size_t *ret, struct pollux_error *err);

/* The only operand, which is required.  Call it after all options were read. */
int options_operand (const struct options *options, const char **ret, struct pollux_error *err);

/* All operands; returns their number.  Call it after all options were read. */
int options_operands (const struct options *options, char ***ret);

/* The number of operands after a "--"; they are the last ones.  Call it before the first
 * options_next. */
int options_behind_dashes (const struct options *options);

/* The whole text of `pollux NAME --help`. */
void options_help (const struct command *command, FILE *out);

#endif
