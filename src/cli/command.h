/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a subcommand is.  A new one is a file of its own with one `const struct command`, a line
 * in the list below, and one in the table of main.c; help, completion, usage errors and the
 * nearest-name suggestions follow from it.  Its man page is docs/man/pollux-NAME.1.scd;
 * tests/cli/commands.sh says what is missing there.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* How the command ends, everywhere. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,      /* could not do it, or what was compared differs */
    EXIT_USAGE = 2,       /* wrong usage or bad input */
    EXIT_UNREACHABLE = 3, /* no answer from the daemon */
};

/* One long option.  The same row makes getopt accept it and --help show it. */
struct command_option {
    const char *name;     /* without the dashes */
    const char *argument; /* its name in the help, in [] if it may be left out; or NULL: none */
    int id;               /* what options_next returns, above 0 */
    const char *help;     /* one line */
};

struct options;

struct command {
    const char *name;
    const char *operands;    /* as in the usage line */
    const char *summary;     /* one line of `pollux --help` */
    const char *description; /* paragraphs of `pollux NAME --help` */
    const struct command_option *options;
    size_t option_count;
    /* Do it: write the result to out and return an exit code, or a negative errno value with a
     * sentence in err.  Speaking of errors, and of what could not be written, is main's part. */
    int (*run) (struct options *options, FILE *out, struct pollux_error *err);
};

extern const struct command decide_command;
extern const struct command exec_command;
extern const struct command fit_command;
extern const struct command goodput_command;
extern const struct command sim_command;
extern const struct command replay_command;
extern const struct command capacity_command;
extern const struct command workload_command;
extern const struct command profiles_command;

#endif
