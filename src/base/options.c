/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parse the options of a command with getopt_long, from the command's table of options.  Unknown
 * options get an error message with the nearest known name.
 */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "base/nearest.h"

/* More than any command has; with more, every test of the command fails. */
#define OPTIONS_LIMIT 64

/* Larger than the characters that getopt_long returns. */
enum { OPTION_FIRST = 256 };

/* The name in messages: "pollux fit", or a separate program. */
struct title {
    char text[64];
};
static struct title title (const struct command *command)
{
    struct title title;
    snprintf (title.text, sizeof (title.text), "%s%s", command->program ? "" : "pollux ",
              command->program ? command->program : command->name);
    return title;
}

/* getopt_long refused the word before optind, or the letter optopt of a short option. */
static int refuse (const struct options *options, bool lacks_argument, struct pollux_error *err)
{
    const struct command *command = options->command;
    if (optopt && optopt < OPTION_FIRST && lacks_argument)
        return fail (err, -EINVAL, "-%c needs an argument; see '%s --help'", optopt,
                     title (command).text);
    if (optopt && optopt < OPTION_FIRST)
        return fail (err, -EINVAL, "unknown option '-%c'; see '%s --help'",
                     isprint ((unsigned char)optopt) ? optopt : '?', title (command).text);
    const char *word = options->argv[optind - 1] + 2;
    int length = (int)strcspn (word, "=");
    struct nearest nearest = nearest_start (word, (size_t)length);
    size_t start_so = 0;
    bool exact = false;
    for (size_t i = 0; i < command->option_count; i++) {
        const char *name = command->options[i].name;
        nearest_try (&nearest, name);
        start_so += strncmp (name, word, (size_t)length) == 0;
        exact |= strncmp (name, word, (size_t)length) == 0 && !name[length];
    }
    if (lacks_argument)
        return fail (err, -EINVAL, "--%.*s needs an argument; see '%s --help'", length, word,
                     title (command).text);
    if (exact || start_so == 1)
        return fail (err, -EINVAL, "--%.*s takes no argument", length, word);
    if (start_so > 1)
        return fail (err, -EINVAL, "--%.*s could be several options; see '%s --help'", length, word,
                     title (command).text);
    struct excerpt unknown = excerpt (options->argv[optind - 1], (size_t)length + 2);
    if (nearest.best)
        return fail (err, -EINVAL, "unknown option %s; did you mean --%s?", unknown.text,
                     nearest.best);
    return fail (err, -EINVAL, "unknown option %s; see '%s --help'", unknown.text,
                 title (command).text);
}

static bool may_lack_argument (const struct command_option *option)
{
    return option->argument && option->argument[0] == '[';
}

static int argument_kind (const struct command_option *option)
{
    if (!option->argument)
        return no_argument;
    return may_lack_argument (option) ? optional_argument : required_argument;
}

static bool has_letter (const struct command_option *option)
{
    return (option->id >= 'a' && option->id <= 'z') || (option->id >= 'A' && option->id <= 'Z');
}

static const struct command_option *find_letter (const struct command *command, int letter)
{
    const struct command_option *option = command->options;
    while (option->id != letter)
        option++; /* val is the index in this table */
    return option;
}

int options_next (struct options *options, struct pollux_error *err)
{
    const struct command *command = options->command;
    struct option table[OPTIONS_LIMIT + 1] = {0};
    char letters[2 * OPTIONS_LIMIT + 2] = ":", *letter = letters + 1;
    if (command->option_count > OPTIONS_LIMIT)
        return fail (err, -E2BIG, "more than %d options", OPTIONS_LIMIT);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct command_option *option = &command->options[i];
        table[i] = (struct option){
            .name = option->name,
            .has_arg = argument_kind (option),
            /* getopt_long treats options with equal values as the same option: an ambiguous prefix
             * such as --max would select the first one. */
            .val = OPTION_FIRST + (int)i,
        };
        if (has_letter (option)) {
            *letter++ = (char)option->id;
            if (option->argument)
                *letter++ = ':';
        }
    }
    if (!options->under_way)
        optind = 0;
    options->under_way = true;
    opterr = 0;
    optopt = 0;
    int found = getopt_long (options->argc, options->argv, letters, table, NULL);
    if (found == -1)
        return 0;
    if (found == ':' || found == '?')
        return refuse (options, found == ':', err);
    options->at = found < OPTION_FIRST ? find_letter (command, found)
                                       : &command->options[found - OPTION_FIRST];
    options->argument = optarg;
    return options->at->id;
}

int options_each (struct options *options, options_take *take, void *ret, struct pollux_error *err)
{
    int id, code = 0;
    while (code == 0 && (id = options_next (options, err)) != 0)
        code = id < 0 ? id : take (ret, id, options, err);
    return code;
}

int options_int64 (const struct options *options, int64_t min, int64_t max, int64_t *ret,
                   struct pollux_error *err)
{
    int64_t value;
    if (number_int64 (options->argument, &value) < 0 || value < min || value > max)
        return fail (err, -EINVAL,
                     "--%s: expected an integer from %" PRId64 " to %" PRId64 ", got %s",
                     options->at->name, min, max, quote (options->argument).text);
    *ret = value;
    return 0;
}

int options_double (const struct options *options, double min, double max, double *ret,
                    struct pollux_error *err)
{
    double value = -INFINITY;
    bool read = (isinf (min) && strcmp (options->argument, "-inf") == 0) ||
                number_double (options->argument, &value) == 0;
    if (!read || value < min || value > max)
        return fail (err, -EINVAL, "--%s: expected a number from %g to %g, got %s",
                     options->at->name, min, max, quote (options->argument).text);
    *ret = value;
    return 0;
}

int options_choice (const struct options *options, const char *const *names, size_t count,
                    size_t *ret, struct pollux_error *err)
{
    struct pollux_error list = {.text = ""};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp (options->argument, names[i]) == 0) {
            *ret = i;
            return 0;
        }
        if (used < sizeof (list.text))
            used += (size_t)snprintf (list.text + used, sizeof (list.text) - used, "%s%s",
                                      i == 0           ? ""
                                      : i + 1 == count ? " or "
                                                       : ", ",
                                      names[i]);
    }
    return fail (err, -EINVAL, "--%s: expected %s, got %s", options->at->name, list.text,
                 quote (options->argument).text);
}

int options_operand (const struct options *options, const char **ret, struct pollux_error *err)
{
    const struct command *command = options->command;
    if (optind >= options->argc)
        return fail (err, -EINVAL, "expected %s; see '%s --help'", command->operands,
                     title (command).text);
    if (optind + 1 < options->argc)
        return fail (err, -EINVAL, "unexpected argument %s: expected only %s",
                     quote (options->argv[optind + 1]).text, command->operands);
    *ret = options->argv[optind];
    return 0;
}

int options_operands (const struct options *options, char ***ret)
{
    *ret = options->argv + optind;
    return options->argc - optind;
}

int options_behind_dashes (const struct options *options)
{
    for (int i = 1; i < options->argc; i++) {
        if (strcmp (options->argv[i], "--") == 0)
            return options->argc - i - 1;
    }
    return 0;
}

void options_help (const struct command *command, FILE *out)
{
    fprintf (out, "Usage: %s [OPTION]...%s%s\n\n%s\n\nOptions:\n", title (command).text,
             *command->operands ? " " : "", command->operands, command->description);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct command_option *option = &command->options[i];
        char left[64], letter[] = {'-', (char)option->id, ',', ' ', '\0'};
        const char *start = has_letter (option) ? letter : "";
        if (may_lack_argument (option))
            snprintf (left, sizeof (left), "%s--%s[=%s", start, option->name, option->argument + 1);
        else
            snprintf (left, sizeof (left), "%s--%s%s%s", start, option->name,
                      option->argument ? "=" : "", option->argument ? option->argument : "");
        fprintf (out, "  %-28s %s\n", left, option->help);
    }
    fprintf (out, "  %-28s %s\n", "--help", "print this text");
    if (command->more_help)
        command->more_help (out);
}
