/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux: the table of subcommands, and everything that is said on their behalf.  A subcommand
 * returns what came of it; errors are spoken and output is checked here, once for all.
 */
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "cli/command.h"
#include "base/nearest.h"
#include "base/options.h"

static const struct command *const commands[] = {
    &submit_command,   &list_command,     &top_command,     &show_command,   &logs_command,
    &explain_command,  &cancel_command,   &scale_command,   &nodes_command,  &drain_command,
    &resume_command,   &events_command,   &status_command,  &token_command,  &fit_command,
    &goodput_command,  &decide_command,   &sim_command,     &replay_command, &capacity_command,
    &workload_command, &profiles_command, &profile_command, &exec_command,
};
#define COMMANDS (sizeof (commands) / sizeof (commands[0]))

static void print_help (FILE *out)
{
    fputs ("Usage: pollux COMMAND [OPTION]... [FILE]...\n"
           "\n"
           "Schedules deep-learning training by goodput: useful samples per second.\n"
           "\n"
           "Commands:\n",
           out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf (out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs ("\n"
           "  pollux help COMMAND   what a command does, and its options\n"
           "  pollux --version      the version\n"
           "\n"
           "Exit status: 0 ok, 1 failed or differs, 2 usage or bad input, 3 daemon unreachable.\n",
           out);
}

static int refuse (const struct pollux_error *err)
{
    fprintf (stderr, "pollux: %s\n", err->text);
    return EXIT_USAGE;
}

/* The command of that name; NULL with a word about the nearest one in err. */
static const struct command *find_command (const char *name, struct pollux_error *err)
{
    struct nearest nearest = nearest_start (name, strlen (name));
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp (commands[i]->name, name) == 0)
            return commands[i];
        nearest_try (&nearest, commands[i]->name);
    }
    if (nearest.best)
        fail (err, -EINVAL, "unknown command %s; did you mean '%s'?", quote (name).text,
              nearest.best);
    else
        fail (err, -EINVAL, "unknown command %s; 'pollux --help' lists them", quote (name).text);
    return NULL;
}

/* Whether help is asked for, before a "--" that ends the options. */
static bool asks_help (int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp (argv[i], "--") != 0; i++) {
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static int help (const char *name)
{
    struct pollux_error err;
    const struct command *command = find_command (name, &err);
    if (!command)
        return refuse (&err);
    options_help (command, stdout);
    return EXIT_OK;
}

/* The request was good but could not be carried out; all else is the request's own fault. */
static int exit_code_of (int code)
{
    switch (-code) {
    case ENOMEM:
    case EINTR:
    case ENOSPC:
    case EIO:
    case EDQUOT:
    case EREMOTEIO: /* refused by the daemon */
        return EXIT_FAILED;
    case EHOSTUNREACH:
        return EXIT_UNREACHABLE;
    default:
        return EXIT_USAGE;
    }
}

static int run (const struct command *command, int argc, char **argv)
{
    struct pollux_error err = {.text = ""};
    struct options options = {.command = command, .argc = argc, .argv = argv};
    int code = command->run (&options, stdout, &err);
    if (code >= 0)
        return code;
    fprintf (stderr, "pollux %s: %s\n", command->name, err.text);
    return exit_code_of (code);
}

static int dispatch (int argc, char **argv)
{
    if (argc < 2) {
        print_help (stderr);
        return EXIT_USAGE;
    }
    struct pollux_error err;
    const char *word = argv[1];
    bool is_help = strcmp (word, "help") == 0;
    if (is_help && argc > 2 && argv[2][0] != '-')
        return help (argv[2]);
    if (is_help || strcmp (word, "--help") == 0 || strcmp (word, "-h") == 0) {
        print_help (stdout);
        return EXIT_OK;
    }
    if (strcmp (word, "--version") == 0) {
        printf ("pollux %s\n", pollux_version ());
        return EXIT_OK;
    }
    if (word[0] == '-') {
        fail (&err, -EINVAL, "unknown option %s; see 'pollux --help'", quote (word).text);
        return refuse (&err);
    }
    const struct command *command = find_command (word, &err);
    if (!command)
        return refuse (&err);
    if (asks_help (argc - 2, argv + 2)) {
        options_help (command, stdout);
        return EXIT_OK;
    }
    return run (command, argc - 1, argv + 1);
}

int main (int argc, char **argv)
{
    /* For the terminal's encoding.  Numbers stay in the C locale: files are the same everywhere. */
    setlocale (LC_CTYPE, "");
    int code = dispatch (argc, argv);
    /* What did not reach its reader was not done: a full disk must not look like success. */
    errno = 0;
    if (fflush (stdout) != 0 || ferror (stdout)) {
        fprintf (stderr, "pollux: cannot write the output: %s\n",
                 errno ? strerror (errno) : "an earlier write failed");
        return code == EXIT_OK ? EXIT_FAILED : code;
    }
    return code;
}
