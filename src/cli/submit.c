/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux submit: submit a job, and with --wait wait until it has ended.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "cli/submit_job.h"
#include "cli/submit_script.h"
#include "wire/submission.h"

enum { SUBMIT_DRY_RUN = CLIENT_OPTION_NEXT, SUBMIT_WAIT };

static const struct command_option submit_options[] = {
    SUBMIT_OPTION_ROWS,
    {"wait", NULL, SUBMIT_WAIT, "wait until it has ended, and exit with its status"},
    {"dry-run", NULL, SUBMIT_DRY_RUN, "only check the job, and print it as JSON"},
    CLIENT_OPTION_ROWS,
};

struct submit_request {
    struct client_options client;
    json_t *job; /* fields from options; later the whole job */
    const char *file;
    bool dry_run, wait;
};

/* ---- The job ---------------------------------------------------------------------------------- */

static int parse_words (struct options *options, int behind, struct submit_request *ret,
                        struct pollux_error *err)
{
    char **words;
    int count = options_operands (options, &words), before = count - behind;
    if (count == 0)
        return fail (err, -EINVAL,
                     "expected FILE.yaml, SCRIPT.py or -- COMMAND; see 'pollux submit --help'");
    bool script = before > 0 && submit_script_is (words[0]);
    if (before > 1)
        return fail (err, -EINVAL, "unexpected argument %s: %s after '--'", quote (words[1]).text,
                     script ? "put arguments of a script" : "put a command");
    if (script)
        return submit_script_take (ret->job, words[0], words + before, behind, err);
    if (before == 1)
        ret->file = words[0];
    return behind > 0 ? submit_job_command (ret->job, words + before, behind, err) : 0;
}

static int parse (struct options *options, struct submit_request *ret, struct pollux_error *err)
{
    int id = 0, rc = 0, behind = options_behind_dashes (options);
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        if (id >= SUBMIT_OPTION_FIRST)
            rc = submit_job_take (ret->job, options, id, err);
        else
            rc = client_options_take (&ret->client, options, id);
        ret->dry_run |= id == SUBMIT_DRY_RUN;
        ret->wait |= id == SUBMIT_WAIT;
    }
    if (id < 0)
        submit_script_hint (options, err);
    return rc < 0 ? rc : parse_words (options, behind, ret, err);
}

/* Print all diagnostics, one line each. */
static int complain (const struct wire_diagnostics *diagnostics, const char *file)
{
    for (int i = 0; i < diagnostics->count; i++) {
        struct pollux_error sentence;
        wire_diagnostic_fail (&diagnostics->items[i], file, &sentence);
        fprintf (stderr, "pollux submit: %s\n", sentence.text);
    }
    if (diagnostics->more)
        fputs ("pollux submit: ... and more\n", stderr);
    return EXIT_USAGE;
}

/* The default directory is the current one. */
static int place_here (struct launch *launch, struct pollux_error *err)
{
    if (launch->directory)
        return 0;
    launch->directory = getcwd (NULL, 0);
    if (!launch->directory)
        return fail (err, -errno, "cannot determine the current directory: %s; give --directory",
                     strerror (errno));
    return 0;
}

/* Complete and check the job.  EXIT_USAGE: diagnostics were printed. */
static int make_job (struct submit_request *request, struct pollux_error *err)
{
    struct wire_diagnostics diagnostics = {0};
    struct wire_submission submission = {0};
    int rc = submit_job_place (request->job, err);
    if (rc == 0)
        rc = wire_submission_read (request->file, request->job, &diagnostics, &submission, err);
    if (rc == -ENOENT)
        return fail (err, rc, "%s: no such file; put a command after '--': pollux submit -- %s",
                     file_name (request->file).text, quote (request->file).text);
    if (rc == -EINVAL && diagnostics.count > 0)
        return complain (&diagnostics, request->file ? request->file : "options");
    if (rc == 0)
        rc = place_here (submission.launch, err);
    json_t *job = rc == 0 ? wire_submission_encode (&submission, err) : NULL;
    wire_submission_clear (&submission);
    if (rc == 0 && !job)
        rc = -ENOMEM;
    if (rc < 0)
        return rc;
    json_decref (request->job);
    request->job = job;
    return 0;
}

/* ---- Waiting ---------------------------------------------------------------------------------- */

/* The job's exit status if known; 1 for another failure. */
static int exit_of (const json_t *job)
{
    double code = answer_number (job, "exit_code");
    if (strcmp (answer_text (job, "phase"), "finished") == 0)
        return EXIT_OK;
    return code >= 1 && code <= 255 ? (int)code : EXIT_FAILED;
}

static void tell_phase (const json_t *job)
{
    const char *wait_reason = answer_text (job, "waits_for"), *detail = answer_text (job, "detail");
    fprintf (stderr, "pollux submit: %s: %s", answer_text (job, "name"),
             answer_text (job, "phase"));
    if (strcmp (answer_text (job, "phase"), "running") == 0)
        fprintf (stderr, " on %s", answer_placement (json_object_get (job, "placement"), 60).text);
    else if (*wait_reason)
        fprintf (stderr, ": %s", wait_reason);
    else if (*detail)
        fprintf (stderr, ": %s", detail);
    fputc ('\n', stderr);
}

/* Poll every second until the job has ended.  The daemon may restart meanwhile. */
static int wait_for (struct client *client, const char *name, struct pollux_error *err)
{
    char last[640] = "";
    bool lost = false;
    for (;; sleep (1)) {
        json_t *job = NULL;
        int rc = client_get (client, client_path ("/v1/jobs/", name, "").text, &job, err);
        if (rc == -EHOSTUNREACH && !lost)
            fprintf (stderr, "pollux submit: %s; trying again\n", err->text);
        lost = rc == -EHOSTUNREACH;
        if (lost)
            continue;
        if (rc == 0)
            rc = answer_disarm (job, err);
        if (rc < 0) {
            json_decref (job);
            return rc;
        }
        char now[640];
        snprintf (now, sizeof (now), "%.100s %s", answer_text (job, "phase"),
                  answer_placement (json_object_get (job, "placement"), 200).text);
        if (strcmp (now, last) != 0)
            tell_phase (job);
        memcpy (last, now, sizeof (last));
        bool ended = isfinite (answer_number (job, "ended_at"));
        rc = ended ? exit_of (job) : 0;
        json_decref (job);
        if (ended)
            return rc;
    }
}

/* ---- Submitting ------------------------------------------------------------------------------- */

/* Problems found by the daemon but not here: its version may differ. */
static void print_problems (const json_t *diagnostics)
{
    json_t *problem, *copy = json_deep_copy (diagnostics);
    size_t i;
    if (copy && answer_disarm (copy, NULL) == 0) {
        json_array_foreach (copy, i, problem)
        {
            const char *path = answer_text (problem, "path");
            fprintf (stderr, "  %s%s%s\n", path, *path ? ": " : "",
                     answer_text (problem, "message"));
        }
    }
    json_decref (copy);
}

/* A job that needs more slots than exist is accepted, since nodes may be added: print a note. */
static void note_size (struct client *client, const json_t *job)
{
    json_t *status = NULL;
    double needs = answer_number (job, "min_replicas");
    if (!(needs > 1) || client_get (client, "/v1/status", &status, NULL) < 0)
        return;
    double slots = answer_number (status, "most_slots");
    if (needs > slots)
        fprintf (
            stderr,
            "pollux submit: note: the job needs %g slots, and all nodes together have %g: it waits "
            "until nodes are added\n",
            needs, slots);
    json_decref (status);
}

static int submit (const struct submit_request *request, FILE *out, struct pollux_error *err)
{
    struct client *client = NULL;
    json_t *job = NULL;
    char name[256] = "";
    int rc = client_open (&request->client.server, &client, err);
    if (rc == 0)
        rc = client_post (client, "/v1/jobs", request->job, &job, err);
    if (rc < 0 && client && client_problems (client)) {
        fprintf (stderr, "pollux submit: %s\n", err->text);
        print_problems (client_problems (client));
        rc = EXIT_USAGE;
    } else if (rc == 0) {
        snprintf (name, sizeof (name), "%s", answer_text (job, "name"));
        if (request->client.json)
            rc = answer_json (json_incref (job), out, err);
        else if ((rc = answer_disarm (job, err)) == 0)
            fprintf (out, "%s\n", answer_text (job, "name"));
    }
    if (rc == 0 && json_object_get (job, "warning") && answer_disarm (job, err) == 0)
        fprintf (stderr, "pollux submit: warning: %s\n", answer_text (job, "warning"));
    json_decref (job);
    if (rc == 0)
        note_size (client, request->job);
    if (rc == 0 && *name && request->wait) {
        fflush (out);
        rc = wait_for (client, name, err);
    }
    client_close (client);
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct submit_request request = {.job = json_object ()};
    int rc = request.job ? parse (options, &request, err)
                         : fail (err, -ENOMEM, "not enough memory for the job");
    if (rc == 0)
        rc = make_job (&request, err);
    if (rc == 0 && request.dry_run)
        rc = answer_json (json_incref (request.job), out, err);
    else if (rc == 0)
        rc = submit (&request, out, err);
    json_decref (request.job);
    return rc;
}

const struct command submit_command = {
    .name = "submit",
    .operands = "FILE.yaml | SCRIPT.py [-- ARGUMENT...] | -- COMMAND [ARGUMENT]...",
    .summary = "submit a job to the daemon",
    .description =
        "Submits a job file, a Python script or a command, and prints the job's name.  Options\n"
        "override the file's fields.  A script is adaptive and runs with the first python3 of "
        "this\n"
        "PATH.  A command has one replica and is not moved, unless --max or --adaptive is given.\n"
        "Of this environment only the variables of --env, and a script's PYTHONPATH, are passed\n"
        "to the job.",
    COMMAND_OPTIONS (submit_options),
    .run = run,
};
