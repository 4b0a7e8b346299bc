/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux cancel: cancel jobs.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"

static const struct command_option cancel_options[] = {CLIENT_OPTION_ROWS};

static void print_cancelled (const json_t *job, FILE *out)
{
    bool stops = strcmp (answer_text (job, "phase"), "cancelling") == 0;
    fprintf (out, "%s: %s\n", answer_text (job, "name"),
             stops ? "is being stopped" : answer_text (job, "phase"));
}

/* Cancel all, also if one fails.  Failures are printed; the last one is returned. */
static int cancel_all (struct client *client, char **names, int count, bool json, FILE *out,
                       struct pollux_error *err)
{
    json_t *jobs = json_array ();
    int worst = 0;
    for (int i = 0; i < count; i++) {
        json_t *job = NULL;
        struct pollux_error refusal = {.text = ""};
        int rc = client_post (client, client_path ("/v1/jobs/", names[i], "/cancel").text, NULL,
                              &job, &refusal);
        if (rc == 0 && json)
            json_array_append (jobs, job);
        else if (rc == 0 && (rc = answer_disarm (job, &refusal)) == 0)
            print_cancelled (job, out);
        json_decref (job);
        if (rc == 0)
            continue;
        if (worst < 0)
            fprintf (stderr, "pollux cancel: %s\n", err->text);
        worst = fail (err, rc, "%s", refusal.text);
        if (rc == -EHOSTUNREACH)
            break;
    }
    if (!json)
        json_decref (jobs);
    else if (json && answer_json (jobs, out, worst < 0 ? NULL : err) < 0)
        worst = worst < 0 ? worst : -ENOMEM;
    return worst;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    struct client *client = NULL;
    char **names;
    int rc = client_options_parse (options, &request, err);
    if (rc < 0)
        return rc;
    int count = options_operands (options, &names);
    if (count == 0)
        return fail (err, -EINVAL, "expected JOB; see 'pollux cancel --help'");
    rc = client_open (&request.server, &client, err);
    if (rc == 0)
        rc = cancel_all (client, names, count, request.json, out, err);
    client_close (client);
    return rc;
}

const struct command cancel_command = {
    .name = "cancel",
    .operands = "JOB...",
    .summary = "cancel jobs",
    .description =
        "A waiting job is cancelled at once.  A running one gets its stop signal\n"
        "and is killed after its grace period; until its processes have ended its phase is\n"
        "'cancelling'.  A job that has ended cannot be cancelled.",
    COMMAND_OPTIONS (cancel_options),
    .run = run,
};
