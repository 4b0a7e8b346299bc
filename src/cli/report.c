/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux report: journals and results of simulations as one HTML file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/report_file.h"
#include "cli/text_output.h"

enum { REPORT_OUTPUT = 'o' };

static const struct command_option report_options[] = {
    {"output", "FILE.html", REPORT_OUTPUT, "the report (report.html); -: standard output"},
};

struct outcome_list {
    struct outcome *outcomes;
    int count;
};

static void free_outcomes (struct outcome_list *list)
{
    for (int i = 0; i < list->count; i++)
        outcome_clear (&list->outcomes[i]);
    free (list->outcomes);
}

/* Append outcomes, which the list takes over. */
static int add (struct outcome_list *list, const struct outcome *added, int count,
                struct pollux_error *err)
{
    struct outcome *outcomes = NULL;
    int code = 0;
    if (list->count + count > REPORT_OUTCOMES)
        code = fail (err, -E2BIG, "%d simulations; a report takes at most %d", list->count + count,
                     REPORT_OUTCOMES);
    else
        outcomes = realloc (list->outcomes, (size_t)(list->count + count) * sizeof (outcomes[0]));
    if (code == 0 && !outcomes)
        code = fail (err, -ENOMEM, "not enough memory for a report");
    if (code < 0)
        return code;
    memcpy (outcomes + list->count, added, (size_t)count * sizeof (outcomes[0]));
    list->outcomes = outcomes;
    list->count += count;
    return 0;
}

static int add_journal (struct outcome_list *list, const char *path, struct pollux_error *err)
{
    struct outcome outcome;
    int code = outcome_read_journal (path, &outcome, err);
    if (code < 0)
        return code;
    code = add (list, &outcome, 1, err);
    if (code < 0)
        outcome_clear (&outcome);
    return code;
}

static int add_result (struct outcome_list *list, const char *path, struct pollux_error *err)
{
    struct outcome_list found = {0};
    int code = outcome_read_result (path, &found.outcomes, &found.count, err);
    if (code < 0)
        return code;
    code = add (list, found.outcomes, found.count, err);
    if (code < 0)
        free_outcomes (&found);
    else
        free (found.outcomes);
    return code;
}

static int add_file (struct outcome_list *list, const char *path, struct pollux_error *err)
{
    size_t length = strlen (path);
    bool result =
        strcmp (path, "-") == 0 || (length > 5 && strcmp (path + length - 5, ".json") == 0);
    return result ? add_result (list, path, err) : add_journal (list, path, err);
}

static int parse (struct options *options, const char **ret, struct pollux_error *err)
{
    int id;
    while ((id = options_next (options, err)) > 0)
        *ret = options->argument;
    return id;
}

static int report_command_run (struct options *options, FILE *out, struct pollux_error *err)
{
    const char *path = "report.html";
    char **operands = NULL;
    struct outcome_list list = {0};
    char *command = command_line (options->argc, options->argv, RECORDING_COMMAND_LIMIT);
    int code = command ? parse (options, &path, err) : fail (err, -ENOMEM, "not enough memory");
    int count = code == 0 ? options_operands (options, &operands) : 0;
    if (code == 0 && count == 0)
        code = fail (err, -EINVAL, "expected journals (FILE.db) or results (RESULT.json)");
    if (code == 0)
        code = report_check (count, err);
    if (code == 0)
        code = output_check (path, operands, count, err);
    for (int i = 0; code == 0 && i < count; i++)
        code = add_file (&list, operands[i], err);
    if (code == 0)
        code = report_write (list.outcomes, list.count, command, path, out, err);
    free_outcomes (&list);
    free (command);
    return code;
}

const struct command report_command = {
    .name = "report",
    .operands = "FILE.db|RESULT.json...",
    .summary = "write journals and results of simulations as one HTML file",
    .description =
        "Reads journals of simulations (pollux sim --record) or of daemons, and results of\n"
        "pollux sim --json, and writes one HTML file that opens without a network: policies side\n"
        "by side with completion times, utilisation, fairness and the timeline of every job, as\n"
        "charts and as tables.  A RESULT.json has completion times only; the report says what is\n"
        "missing.\n",
    COMMAND_OPTIONS (report_options),
    .run = report_command_run,
};
