/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux: the table of subcommands.  A subcommand returns a code; this file prints errors, checks
 * that all output was written, and chooses the exit status.
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
    &submit_command,   &list_command,     &top_command,     &show_command,    &logs_command,
    &explain_command,  &cancel_command,   &scale_command,   &nodes_command,   &drain_command,
    &resume_command,   &groups_command,   &cost_command,    &events_command,  &status_command,
    &doctor_command,   &token_command,    &fit_command,     &goodput_command, &decide_command,
    &sim_command,      &replay_command,   &view_command,    &report_command,  &capacity_command,
    &workload_command, &profiles_command, &extract_command, &exec_command,    &slurm_pilot_command,
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
        fprintf (out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fputs ("\n"
           "  pollux help COMMAND   description and options of a command\n"
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

/* The command of that name; NULL, with the nearest name in err. */
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

/* True if an option asks for help, before a "--". */
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

/* True if the request was valid but failed; other failures are usage errors. */
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
    /* Only LC_CTYPE, for the terminal's encoding: numbers in files stay in the C locale. */
    setlocale (LC_CTYPE, "");
    int code = dispatch (argc, argv);
    /* Output that cannot be written, say to a full disk, is a failure. */
    errno = 0;
    if (fflush (stdout) != 0 || ferror (stdout)) {
        fprintf (stderr, "pollux: cannot write the output: %s\n",
                 errno ? strerror (errno) : "an earlier write failed");
        return code == EXIT_OK ? EXIT_FAILED : code;
    }
    return code;
}
