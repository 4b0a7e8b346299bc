/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux show: print all fields of one job.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include <math.h>
#include <string.h>

#include "cli/answer_text.h"
#include "cli/simple_request.h"

static const struct command_option show_options[] = {CLIENT_OPTION_ROWS};

static void line (FILE *out, const char *label, const char *text)
{
    if (*text && strcmp (text, "-") != 0)
        fprintf (out, "%-12s %s\n", label, text);
}

static bool is_word (const char *text)
{
    return *text && !text[strspn (text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789_-./=:,+%@")];
}

/* Print a command quoted for a shell. */
static void print_command (const json_t *command, FILE *out)
{
    json_t *word;
    size_t i;
    if (json_is_string (command)) {
        line (out, "command", json_string_value (command));
        return;
    }
    if (json_array_size (command) == 0)
        return;
    fprintf (out, "%-12s", "command");
    json_array_foreach (command, i, word)
    {
        const char *text = json_string_value (word);
        fputc (' ', out);
        if (text && is_word (text)) {
            fputs (text, out);
            continue;
        }
        fputc ('\'', out);
        for (const char *at = text ? text : ""; *at; at++) {
            if (*at == '\'')
                fputs ("'\\''", out);
            else
                fputc (*at, out);
        }
        fputc ('\'', out);
    }
    fputc ('\n', out);
}

static void print_environment (const json_t *environment, FILE *out)
{
    const char *name, *label = "environment";
    json_t *value;
    json_object_foreach ((json_t *)environment, name, value)
    {
        fprintf (out, "%-12s %s=%s\n", label, name,
                 json_is_string (value) ? json_string_value (value) : "");
        label = "";
    }
}

static void print_allowed (const json_t *job, FILE *out)
{
    const json_t *allowed = json_object_get (job, "allowed"), *count;
    size_t i;
    fprintf (out, "%-12s %s", "limits", answer_limits (job).text);
    if (json_is_array (allowed)) {
        fputs (" replicas, of these", out);
        json_array_foreach ((json_t *)allowed, i, count)
        {
            fprintf (out, "%s %.0f", i ? "," : "", json_number_value (count));
        }
    } else if (json_is_object (allowed)) {
        fprintf (out, " replicas, multiples of %s",
                 answer_count (answer_number (allowed, "multiple_of")).text);
    } else if (json_is_string (allowed) && strcmp (json_string_value (allowed), "pow2") == 0) {
        fputs (" replicas, powers of two", out);
    } else {
        fputs (" replicas", out);
    }
    fprintf (out, "; weight %s, %s, %s\n", answer_rate (answer_number (job, "weight")).text,
             answer_true (job, "preemptible") ? "preemptible" : "not preemptible",
             answer_true (job, "adaptive") ? "adapts its batch" : "does not adapt its batch");
}

static void print_words (const json_t *list, FILE *out)
{
    const json_t *word;
    size_t i;
    json_array_foreach ((json_t *)list, i, word)
    {
        fprintf (out, "%s%s", i ? ", " : "", json_is_string (word) ? json_string_value (word) : "");
    }
}

/* Types and speeds, if the owner named any. */
static void print_types (const json_t *job, FILE *out)
{
    const json_t *types = json_object_get (job, "types"), *speeds = json_object_get (job, "speeds");
    const char *type, *separator = "";
    json_t *speed;
    if (json_is_array (types) || json_is_object (types)) {
        fprintf (out, "%-12s %s", "types", json_is_object (types) ? "all except " : "");
        print_words (json_is_object (types) ? json_object_get (types, "except") : types, out);
        fputc ('\n', out);
    }
    if (json_object_size (speeds) == 0)
        return;
    fprintf (out, "%-12s ", "speeds");
    json_object_foreach ((json_t *)speeds, type, speed)
    {
        fprintf (out, "%s%s %s", separator, type, answer_rate (json_number_value (speed)).text);
        separator = ", ";
    }
    fputs (" (with one replica, as its owner says)\n", out);
}

/* The application, and whether the job ignores the experience of others. */
static void print_application (const json_t *job, FILE *out)
{
    const char *application = answer_text (job, "application");
    bool ignores = answer_true (job, "ignore_experience");
    if (application[0] || ignores)
        fprintf (out, "%-12s %s%s%s\n", "application", application,
                 application[0] && ignores ? ", " : "", ignores ? "ignores experience" : "");
}

static void print_training (const json_t *job, FILE *out)
{
    const json_t *batch = json_object_get (job, "batch");
    double progress = answer_number (job, "progress"), total = answer_number (job, "total"),
           goodput = answer_number (job, "goodput");
    if (json_is_object (batch))
        fprintf (out, "%-12s %s: %s on each replica, %s extra accumulation steps\n", "batch",
                 answer_batch (job).text, answer_count (answer_number (batch, "m")).text,
                 answer_count (answer_number (batch, "s")).text);
    if (isfinite (goodput))
        fprintf (out, "%-12s %s useful samples/s = throughput %s x efficiency %s; speedup %s\n",
                 "goodput", answer_rate (goodput).text,
                 answer_rate (answer_number (job, "throughput")).text,
                 answer_share (answer_number (job, "efficiency")).text,
                 answer_rate (answer_number (job, "speedup")).text);
    if (isfinite (progress) && isfinite (total) && total > 0)
        fprintf (out, "%-12s %s, %s to go\n", "progress", answer_share (progress / total).text,
                 answer_duration (answer_number (job, "eta_s")).text);
    else if (isfinite (progress))
        fprintf (out, "%-12s %s iterations of the initial batch\n", "progress",
                 answer_rate (progress).text);
}

static void print_times (const json_t *job, FILE *out)
{
    line (out, "submitted", answer_time (answer_number (job, "submitted_at")).text);
    line (out, "started", answer_time (answer_number (job, "started_at")).text);
    line (out, "ended", answer_time (answer_number (job, "ended_at")).text);
    fprintf (out, "%-12s %s since its submission, %s of them with slots\n", "age",
             answer_duration (answer_number (job, "age_s")).text,
             answer_duration (answer_number (job, "run_s")).text);
    fprintf (out, "%-12s generation %s, %s restarts, %s failures (forgiven: %s)\n", "runs",
             answer_count (answer_number (job, "generation")).text,
             answer_count (answer_number (job, "restarts")).text,
             answer_count (answer_number (job, "failures")).text,
             answer_count (answer_number (job, "max_failures")).text);
}

/* Nothing without prices. */
static void print_cost (const json_t *job, FILE *out)
{
    double cost = answer_number (job, "cost"), price = answer_number (job, "price_per_hour");
    if (price > 0)
        fprintf (out, "%-12s %s so far, %s per hour now\n", "cost", answer_money (cost).text,
                 answer_money (price).text);
    else if (cost > 0)
        line (out, "cost", answer_money (cost).text);
}

static void print_launch (const json_t *job, FILE *out)
{
    print_command (json_object_get (job, "command"), out);
    line (out, "directory", answer_text (job, "directory"));
    line (out, "checkpoints", answer_text (job, "checkpoint_dir"));
    line (out, "launcher", answer_text (job, "launcher"));
    double number = answer_number (job, "stop_signal");
    const char *signal = number >= 1 && number < 65 ? sigabbrev_np ((int)number) : NULL;
    if (number >= 1)
        fprintf (out, "%-12s by signal %.0f%s%s, killed after %s\n", "stop", number,
                 signal ? ", SIG" : "", signal ? signal : "",
                 answer_duration (answer_number (job, "grace_s")).text);
    print_environment (json_object_get (job, "environment"), out);
}

static void print_last_lines (const json_t *job, FILE *out)
{
    const json_t *lines = json_object_get (job, "last_lines"), *text;
    size_t i;
    if (json_array_size (lines) > 0)
        fputs ("\nIts last lines:\n", out);
    json_array_foreach ((json_t *)lines, i, text)
    {
        fprintf (out, "    %s\n", json_is_string (text) ? json_string_value (text) : "");
    }
}

static int print_job (const json_t *job, FILE *out, struct pollux_error *err)
{
    (void)err;
    const json_t *desired = json_object_get (job, "desired"),
                 *placement = json_object_get (job, "placement");
    fprintf (out, "%-12s %s\n%-12s %s\n", "job", answer_text (job, "name"), "phase",
             answer_text (job, "phase"));
    line (out, "detail", answer_text (job, "detail"));
    line (out, "why", answer_text (job, "waits_for"));
    line (out, "warning", answer_text (job, "warning"));
    line (out, "report", answer_text (job, "refused_report"));
    line (out, "owner", answer_text (job, "owner"));
    line (out, "placement", answer_placement (placement, 400).text);
    if (!json_equal (desired, placement))
        line (out, "desired", answer_placement (desired, 400).text);
    print_allowed (job, out);
    print_types (job, out);
    print_application (job, out);
    print_training (job, out);
    print_times (job, out);
    print_cost (job, out);
    print_launch (job, out);
    print_last_lines (job, out);
    return 0;
}

static const struct simple_request show_request = {
    .before = "/v1/jobs/", .after = "", .print = print_job};

const struct command show_command = {
    .name = "show",
    .operands = "JOB",
    .summary = "show all about a job",
    .description =
        "Prints a job's specification, placement and training; the reason if it waits, and its\n"
        "last lines if it has failed.",
    COMMAND_OPTIONS (show_options),
    .run = simple_request_run,
    .subject = &show_request,
};
