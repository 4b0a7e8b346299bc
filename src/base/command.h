/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command: its help texts, its options, and its function.
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Exit codes of all commands. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,      /* failed, or a comparison found a difference */
    EXIT_USAGE = 2,       /* wrong usage or bad input */
    EXIT_UNREACHABLE = 3, /* no answer from the daemon */
    EXIT_SUPERSEDED = 4, /* polluxd: another one took over its state directory; do not restart it */
};

/* One long option, for getopt and for --help. */
struct command_option {
    const char *name;     /* without the dashes */
    const char *argument; /* its name in the help, in [] if optional; NULL: no argument */
    int id;           /* what options_next returns, above 0; a letter is also the short option */
    const char *help; /* one line */
};

struct options;

struct command {
    const char *name;
    const char *operands;    /* as in the usage line */
    const char *summary;     /* one line of `pollux --help` */
    const char *description; /* paragraphs of `pollux NAME --help` */
    const struct command_option *options;
    size_t option_count;
    void (*more_help) (FILE *out); /* text below the options of --help; NULL: none */
    const char *program;           /* name of a separate program; NULL: a subcommand of pollux */
    /* Run it: write the result to out and return an exit code, or a negative errno value with a
     * sentence in err.  main prints errors, also those of writing to out. */
    int (*run) (struct options *options, FILE *out, struct pollux_error *err);
    const void *subject; /* for a run function that several commands share: what it needs to know */
};

/* The initializers of options and option_count, from an array. */
#define COMMAND_OPTIONS(array)                                                                     \
    .options = (array), .option_count = sizeof (array) / sizeof ((array)[0])

#endif
