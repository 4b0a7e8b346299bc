/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux nodes, drain and resume: list nodes, take them out of use, return them.
 */
#include "cli/answer_text.h"
#include "cli/simple_request.h"
#include "cli/table.h"

enum { NODES_QUIET = CLIENT_OPTION_NEXT };

static const struct command_option nodes_options[] = {
    {"quiet", NULL, NODES_QUIET, "print the names only, one per line"},
    CLIENT_OPTION_ROWS,
};
static const struct command_option node_options[] = {CLIENT_OPTION_ROWS};
#define NODE_OPTIONS (sizeof (node_options) / sizeof (node_options[0]))

static void print_names (const json_t *nodes, FILE *out)
{
    size_t i;
    json_t *node;
    json_array_foreach ((json_t *)nodes, i, node)
    {
        fprintf (out, "%s\n", answer_text (node, "name"));
    }
}

static int print_nodes (const json_t *nodes, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<node", "<type", "slots", "used", "<state", "<jobs"};
    struct terminal terminal = terminal_of (out);
    struct table table = table_start (titles, 6);
    size_t i;
    json_t *node;
    if (json_array_size (nodes) == 0) {
        fputs ("The cluster has no nodes.\n", out);
        return 0;
    }
    json_array_foreach (nodes, i, node)
    {
        table_cell (&table, "%s", answer_text (node, "name"));
        table_cell (&table, "%s", answer_or_dash (answer_text (node, "type")).text);
        table_cell (&table, "%s", answer_count (answer_number (node, "slots")).text);
        table_cell (&table, "%s", answer_count (answer_number (node, "used")).text);
        table_cell (&table, "%s", answer_true (node, "available") ? "available" : "drained");
        table_cell (&table, "%s", answer_placement (json_object_get (node, "jobs"), 48).text);
    }
    return table_end (&table, terminal, out, err);
}

static int run_nodes (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    struct client *client = NULL;
    json_t *answer = NULL;
    bool quiet = false;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        quiet |= id == NODES_QUIET;
        rc = client_options_take (&request, options, id);
    }
    if (rc == 0)
        rc = client_options_connect (options, &request, &client, err);
    if (rc == 0)
        rc = client_get (client, "/v1/nodes", &answer, err);
    if (rc == 0 && request.json)
        rc = answer_json (json_incref (answer), out, err);
    else if (rc == 0)
        rc = answer_disarm (answer, err);
    if (rc == 0 && quiet && !request.json)
        print_names (json_object_get (answer, "nodes"), out);
    else if (rc == 0 && !request.json)
        rc = print_nodes (json_object_get (answer, "nodes"), out, err);
    json_decref (answer);
    client_close (client);
    return rc;
}

static int print_node (const json_t *node, FILE *out, struct pollux_error *err)
{
    (void)err;
    fprintf (out, "%s: %s, %s of %s slots in use\n", answer_text (node, "name"),
             answer_true (node, "available") ? "available" : "drained",
             answer_count (answer_number (node, "used")).text,
             answer_count (answer_number (node, "slots")).text);
    return 0;
}

static int run_drain (struct options *options, FILE *out, struct pollux_error *err)
{
    static const struct simple_request request = {
        .before = "/v1/nodes/", .after = "/drain", .changes = true, .print = print_node};
    return simple_request_send (&request, options, out, err);
}

static int run_resume (struct options *options, FILE *out, struct pollux_error *err)
{
    static const struct simple_request request = {
        .before = "/v1/nodes/", .after = "/resume", .changes = true, .print = print_node};
    return simple_request_send (&request, options, out, err);
}

const struct command nodes_command = {
    .name = "nodes",
    .operands = "",
    .summary = "list the nodes, their slots and the jobs on them",
    .description =
        "Lists the nodes of the daemon's cluster with their slots, how many of these are in\n"
        "use, and which jobs use them.",
    .options = nodes_options,
    .option_count = sizeof (nodes_options) / sizeof (nodes_options[0]),
    .run = run_nodes,
};

const struct command drain_command = {
    .name = "drain",
    .operands = "NODE",
    .summary = "start nothing more on a node",
    .description =
        "No more replicas are started on the node.  Preemptible jobs on it move with the next\n"
        "round; the others run to their end.  'pollux resume' returns the node to use.",
    .options = node_options,
    .option_count = NODE_OPTIONS,
    .run = run_drain,
};

const struct command resume_command = {
    .name = "resume",
    .operands = "NODE",
    .summary = "return a drained node to use",
    .description = "Undoes 'pollux drain': the node is given work again, from the next round on.",
    .options = node_options,
    .option_count = NODE_OPTIONS,
    .run = run_resume,
};
