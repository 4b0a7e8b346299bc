/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux drain and resume: take nodes out of use, by a person or because their provider takes them away, and return them.
 */
#include <errno.h>

#include "base/error.h"
#include "cli/node_text.h"
#include "cli/simple_request.h"

enum { DRAIN_LEAVING = CLIENT_OPTION_NEXT };

static const struct command_option drain_options[] = {
    {"leaving", "SECONDS", DRAIN_LEAVING, "the provider takes the node away after this time"},
    CLIENT_OPTION_ROWS,
};
static const struct command_option resume_options[] = {CLIENT_OPTION_ROWS};

static int run_drain (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    const char *name = NULL;
    json_t *body = NULL;
    double leaving_s = -1;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0)
        rc = id == DRAIN_LEAVING ? options_double (options, 0, 7 * 86400, &leaving_s, err)
                                 : client_options_take (&request, options, id);
    if (rc == 0)
        rc = options_operand (options, &name, err);
    if (rc == 0 && leaving_s >= 0 && !(body = json_pack ("{s:f}", "leaving_s", leaving_s)))
        rc = fail (err, -ENOMEM, "not enough memory for a request");
    if (rc == 0)
        rc = simple_request_path (&request, client_path ("/v1/nodes/", name, "/drain").text, true,
                                  body, node_print, out, err);
    json_decref (body);
    return rc;
}

static const struct simple_request resume_request = {
    .before = "/v1/nodes/", .after = "/resume", .changes = true, .print = node_print};

const struct command drain_command = {
    .name = "drain",
    .operands = "NODE",
    .summary = "start nothing more on a node",
    .description =
        "No more replicas are started on the node.  Preemptible jobs on it move with the next\n"
        "round; the others run to their end.  'pollux resume' returns the node to use.  With\n"
        "--leaving, the provider takes the node of a group away: its jobs write checkpoints and\n"
        "move, and the node is returned.",
    COMMAND_OPTIONS (drain_options),
    .run = run_drain,
};

const struct command resume_command = {
    .name = "resume",
    .operands = "NODE",
    .summary = "return a drained node to use",
    .description = "Undoes 'pollux drain': the node is given work again, from the next round on.",
    COMMAND_OPTIONS (resume_options),
    .run = simple_request_run,
    .subject = &resume_request,
};
