/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux explain: why does my job have 3 GPUs?  The daemon's sentences, its goodput curve, and what
 * one more or one less would change, side by side.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/answer_text.h"
#include "cli/plot.h"
#include "cli/simple_request.h"
#include "cli/table.h"
#include "policy/explain_text.h"

static const struct command_option explain_options[] = {CLIENT_OPTION_ROWS};

/* A sentence in lines that fit. */
static void print_sentence (const char *text, int width, FILE *out)
{
    int column = 0;
    while (*text) {
        size_t length = strcspn (text, " ");
        int wide = (int)utf8_count (text, length);
        if (column > 0 && column + 1 + wide > width) {
            fputc ('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc (' ', out);
            column++;
        }
        fprintf (out, "%.*s", (int)length, text);
        column += wide;
        text += length;
        text += strspn (text, " ");
    }
    fputc ('\n', out);
}

static void print_sentences (const json_t *sentences, int width, FILE *out)
{
    json_t *sentence;
    size_t i;
    json_array_foreach ((json_t *)sentences, i, sentence)
    {
        if (json_is_string (sentence))
            print_sentence (json_string_value (sentence), width, out);
    }
}

/* ---- One more, one less ----------------------------------------------------------------------- */

/* "ann-3 2->1, bert 4->3" */
static struct answer_line others_of (const json_t *change)
{
    struct answer_line line = {""};
    size_t i, used = 0;
    json_t *other;
    json_array_foreach (json_object_get (change, "others"), i, other)
    {
        char part[160];
        snprintf (part, sizeof (part), "%s%.63s %.0f->%.0f", used ? ", " : "",
                  answer_text (other, "name"), answer_number (other, "from"),
                  answer_number (other, "to"));
        if (used + strlen (part) + sizeof (", ...") > sizeof (line.text) || i == 4) {
            snprintf (line.text + used, sizeof (line.text) - used, ", ...");
            break;
        }
        used += (size_t)snprintf (line.text + used, sizeof (line.text) - used, "%s", part);
    }
    return used ? line : (struct answer_line){"-"};
}

static void add_row (struct table *table, const char *label, const json_t *point,
                     const json_t *explanation)
{
    const json_t *current = json_object_get (explanation, "current");
    double factor = answer_number (point, "goodput") / answer_number (current, "goodput"),
           fitness = answer_number (point, "fitness") / answer_number (explanation, "fitness");
    bool now = point == current;
    table_cell (table, "%s", label);
    answer_cell (table, point, "replicas", answer_count);
    table_cell (table, "%s", answer_batch (point).text);
    answer_cell (table, point, "goodput", answer_rate);
    table_cell (table, "%s", now ? "-" : change_text (factor, 1).text);
    answer_cell (table, point, "eta_s", answer_duration);
    table_cell (table, "%s", now ? "-" : change_text (fitness, 1).text);
    table_cell (table, "%s", now ? "-" : others_of (point).text);
}

static int print_changes (const json_t *explanation, struct terminal terminal, FILE *out,
                          struct pollux_error *err)
{
    static const char *const titles[] = {"<",      "replicas", "batch",    "goodput",
                                         "change", "ETA",      "all jobs", "<other jobs"};
    const json_t *current = json_object_get (explanation, "current"),
                 *more = json_object_get (explanation, "one_more"),
                 *less = json_object_get (explanation, "one_less");
    struct table table = TABLE_START (titles);
    if (!json_is_object (current))
        return 0;
    if (answer_true (less, "possible"))
        add_row (&table, "one less", less, explanation);
    add_row (&table, "now", current, explanation);
    if (answer_true (more, "possible"))
        add_row (&table, "one more", more, explanation);
    fputc ('\n', out);
    return table_end (&table, terminal, out, err);
}

/* ---- The curve -------------------------------------------------------------------------------- */

static int print_curve (const json_t *explanation, struct terminal terminal, FILE *out,
                        struct pollux_error *err)
{
    const json_t *curve = json_object_get (explanation, "curve");
    const json_t *current = json_object_get (explanation, "current");
    size_t count = json_array_size (curve), known = 0;
    double *x = calloc (2 * count + 1, sizeof (double)), *y = x ? x + count : NULL;
    if (!x)
        return fail (err, -ENOMEM, "not enough memory for a plot");
    for (size_t i = 0; i < count; i++) {
        const json_t *point = json_array_get (curve, i);
        x[i] = answer_number (point, "replicas");
        y[i] = answer_number (point, "goodput");
        known += isfinite (x[i]) && isfinite (y[i]);
    }
    /* Where it is now, as a line from the axis up to the curve. */
    double now_x[2] = {answer_number (current, "replicas"), answer_number (current, "replicas")},
           now_y[2] = {0, answer_number (current, "goodput")};
    const struct plot_series series[] = {{"goodput", x, y, count}, {"now", now_x, now_y, 2}};
    const struct plot plot = {
        .x_label = "replicas", .y_label = "goodput (useful samples/s)", .height = 12};
    int rc = 0;
    if (known > 1) {
        fputc ('\n', out);
        rc = plot_print (&plot, series, now_x[0] > 0 && isfinite (now_y[1]) ? 2 : 1, terminal, out,
                         err);
    }
    free (x);
    return rc;
}

static int print_explanation (const json_t *explanation, FILE *out, struct pollux_error *err)
{
    struct terminal terminal = terminal_of (out);
    print_sentences (json_object_get (explanation, "sentences"), terminal.width, out);
    int rc = print_changes (explanation, terminal, out, err);
    return rc < 0 ? rc : print_curve (explanation, terminal, out, err);
}

static const struct simple_request explain_request = {
    .before = "/v1/jobs/", .after = "/explain", .print = print_explanation};

const struct command explain_command = {
    .name = "explain",
    .operands = "JOB",
    .summary = "why a job has as many replicas as it has",
    .description = "Tells what the job gets out of its replicas, what one more or one less would "
                   "change for it\n"
                   "and for the other jobs, the price of a slot in this round, which limits hold "
                   "it and what it\n"
                   "waits for; and draws its goodput on other numbers of replicas.",
    COMMAND_OPTIONS (explain_options),
    .run = simple_request_run,
    .subject = &explain_request,
};
