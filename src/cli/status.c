/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux status: print the state of the daemon.
 */
#include "cli/answer_text.h"
#include "cli/client_options.h"

static const struct command_option status_options[] = {CLIENT_OPTION_ROWS};

static void print_status (const json_t *status, const char *address, FILE *out)
{
    double now = answer_number (status, "now_at");
    fprintf (out, "polluxd %s at %s, up for %s\n", answer_text (status, "version"), address,
             answer_duration (now - answer_number (status, "started_at")).text);
    fprintf (out, "policy   %s, p = %s, backend %s\n", answer_text (status, "policy"),
             answer_rate (answer_number (status, "p")).text, answer_text (status, "backend"));
    fprintf (out, "rounds   every %s, the next in %s; a restart costs %s\n",
             answer_duration (answer_number (status, "interval_s")).text,
             answer_duration (answer_number (status, "next_round_at") - now).text,
             answer_duration (answer_number (status, "restart_delay_s")).text);
    fprintf (out, "cluster  %s nodes, %s of %s slots in use\n",
             answer_count (answer_number (status, "nodes")).text,
             answer_count (answer_number (status, "used_slots")).text,
             answer_count (answer_number (status, "slots")).text);
    fprintf (out, "jobs     %s\n", answer_phases (json_object_get (status, "jobs")).text);
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    struct client *client = NULL;
    json_t *status = NULL;
    int rc = client_options_parse (options, &request, err);
    if (rc == 0)
        rc = client_options_connect (options, &request, &client, err);
    if (rc == 0)
        rc = client_get (client, "/v1/status", &status, err);
    if (rc == 0 && request.json) {
        rc = answer_json (status, out, err);
        status = NULL;
    } else if (rc == 0 && (rc = answer_disarm (status, err)) == 0) {
        print_status (status, client_address (client), out);
    }
    json_decref (status);
    client_close (client);
    return rc;
}

const struct command status_command = {
    .name = "status",
    .operands = "",
    .summary = "print the state of the daemon",
    .description =
        "Prints the daemon's version, policy and rounds, and how much of the cluster is in\n"
        "use.  Exit status 3: it cannot be reached.",
    COMMAND_OPTIONS (status_options),
    .run = run,
};
