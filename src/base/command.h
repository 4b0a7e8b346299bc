/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is: its words for people, its options, and what it does.
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

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
    int id;               /* what options_next returns, above 0; a letter is its short name, too */
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
    void (*more_help) (FILE *out); /* text below the options of --help; NULL: none */
    const char *program; /* the name of a program of its own; NULL: a subcommand of pollux */
    /* Do it: write the result to out and return an exit code, or a negative errno value with a
     * sentence in err.  Speaking of errors, and of what could not be written, is main's part. */
    int (*run) (struct options *options, FILE *out, struct pollux_error *err);
};

#endif
