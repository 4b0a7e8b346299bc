/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux cost: what the slots have cost, by owner and month; idle capacity in rows of its own.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "cli/answer_text.h"
#include "cli/simple_request.h"
#include "cli/table.h"

enum { COST_BY = CLIENT_OPTION_NEXT, COST_CSV };

static const struct command_option cost_options[] = {
    {"by", "owner|month|owner,month", COST_BY, "what the rows are of (owner,month)"},
    {"csv", NULL, COST_CSV, "print comma-separated values"},
    CLIENT_OPTION_ROWS,
};

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Of jobs and of idle capacity: idle rows come last in their month. */
struct cost_rows {
    const json_t *jobs, *idle;
    size_t job, next_idle;
};

static struct cost_rows rows_of (const json_t *answer)
{
    return (struct cost_rows){.jobs = json_object_get (answer, "rows"),
                              .idle = json_object_get (answer, "idle")};
}

/* The next row; NULL: there is none. */
static const json_t *next_row (struct cost_rows *rows, bool *ret_idle)
{
    const json_t *job = json_array_get (rows->jobs, rows->job),
                 *idle = json_array_get (rows->idle, rows->next_idle);
    *ret_idle =
        idle && (!job || strcmp (answer_text (job, "month"), answer_text (idle, "month")) > 0);
    if (*ret_idle)
        rows->next_idle++;
    else if (job)
        rows->job++;
    return *ret_idle ? idle : job;
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void put_sum (struct table *table, const json_t *sum)
{
    table_cell (table, "%.2f", answer_number (sum, "slot_hours"));
    table_cell (table, "%s", answer_money (answer_number (sum, "cost")).text);
}

static int print_table (const json_t *answer, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<month", "<owner", "slot-hours", "cost"};
    struct table table = TABLE_START (titles);
    struct cost_rows rows = rows_of (answer);
    const json_t *row;
    bool idle;
    while ((row = next_row (&rows, &idle))) {
        table_cell (&table, "%s", answer_or_dash (answer_text (row, "month")).text);
        table_cell (&table, "%s",
                    idle ? "(idle)" : answer_or_dash (answer_text (row, "owner")).text);
        put_sum (&table, row);
    }
    table_cell (&table, "total");
    table_cell (&table, "%s", "");
    put_sum (&table, json_object_get (answer, "total"));
    return table_end (&table, terminal_of (out), out, err);
}

/* A field of CSV: in quotes if it needs them, quotes doubled. */
static void put_field (const char *text, FILE *out)
{
    if (!strpbrk (text, ",\"\n ")) {
        fputs (text, out);
        return;
    }
    fputc ('"', out);
    for (; *text; text++)
        fprintf (out, *text == '"' ? "\"\"" : "%c", *text);
    fputc ('"', out);
}

static int print_csv (const json_t *answer, FILE *out, struct pollux_error *err)
{
    struct cost_rows rows = rows_of (answer);
    const json_t *row;
    bool idle;
    (void)err;
    fputs ("month,kind,owner,slot_hours,cost\n", out);
    while ((row = next_row (&rows, &idle))) {
        fprintf (out, "%s,%s,", answer_text (row, "month"), idle ? "idle" : "jobs");
        put_field (answer_text (row, "owner"), out);
        fprintf (out, ",%.9g,%.9g\n", answer_number (row, "slot_hours"),
                 answer_number (row, "cost"));
    }
    return 0;
}

/* ---- The command ---------------------------------------------------------------------------- */

/* Check words before the request, with the option's name in the message. */
static int check_by (const char *text, struct pollux_error *err)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn (at, ",");
        if (length != 5 || (strncmp (at, "owner", 5) != 0 && strncmp (at, "month", 5) != 0))
            return fail (err, -EINVAL, "--by: expected owner, month or owner,month, got %s",
                         excerpt (at, length).text);
        at += length;
        if (!*at)
            return 0;
    }
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    const char *by = "owner,month";
    bool csv = false;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        csv |= id == COST_CSV;
        if (id == COST_BY)
            rc = check_by (by = options->argument, err);
        else
            rc = client_options_take (&request, options, id);
    }
    if (rc == 0)
        rc = client_options_no_operand (options, err);
    if (rc == 0 && csv && request.json)
        rc = fail (err, -EINVAL, "--csv and --json exclude each other");
    if (rc < 0)
        return rc;
    return simple_request_path (&request, client_path ("/v1/cost?by=", by, "").text, false, NULL,
                                csv ? print_csv : print_table, out, err);
}

const struct command cost_command = {
    .name = "cost",
    .operands = "",
    .summary = "print what slots have cost, by owner and month",
    .description =
        "Prints the slot-hours of jobs and what they have cost so far, in the unit of the groups'\n"
        "prices, and the capacity that nobody's jobs held, as (idle).  Months are those of UTC.",
    COMMAND_OPTIONS (cost_options),
    .run = run,
};
