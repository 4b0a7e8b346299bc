/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux nodes: list nodes; say that one exists, or does not any more.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "cli/answer_text.h"
#include "cli/node_text.h"
#include "cli/simple_request.h"
#include "cli/table.h"
#include "wire/node.h"

enum { NODES_QUIET = CLIENT_OPTION_NEXT };

static const struct command_option nodes_options[] = {
    {"quiet", NULL, NODES_QUIET, "print the names only, one per line"},
    CLIENT_OPTION_ROWS,
};

static int print_names (const json_t *answer, FILE *out, struct pollux_error *err)
{
    size_t i;
    json_t *node;
    (void)err;
    json_array_foreach (json_object_get (answer, "nodes"), i, node)
    {
        if (!node_is_off (node))
            fprintf (out, "%s\n", answer_text (node, "name"));
    }
    return 0;
}

static int print_nodes (const json_t *answer, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<node", "<type", "slots", "used", "<state", "<jobs"};
    struct terminal terminal = terminal_of (out);
    const json_t *nodes = json_object_get (answer, "nodes");
    size_t i, there = 0;
    json_t *node;
    json_array_foreach ((json_t *)nodes, i, node)
    {
        there += !node_is_off (node);
    }
    if (there == 0) {
        fputs ("The cluster has no nodes.\n", out);
        return 0;
    }
    struct table table = TABLE_START (titles);
    json_array_foreach ((json_t *)nodes, i, node)
    {
        if (node_is_off (node))
            continue;
        table_cell (&table, "%s", answer_text (node, "name"));
        table_cell (&table, "%s", answer_or_dash (answer_text (node, "type")).text);
        answer_cell (&table, node, "slots", answer_count);
        answer_cell (&table, node, "used", answer_count);
        table_cell (&table, "%s", node_state (node));
        table_cell (&table, "%s", answer_placement (json_object_get (node, "jobs"), 48).text);
    }
    return table_end (&table, terminal, out, err);
}

/* ---- Up and gone ------------------------------------------------------------------------------ */

/* `up NAME:SLOTS[:TYPE]` */
static int send_up (const struct client_options *request, const char *text, FILE *out,
                    struct pollux_error *err)
{
    struct node node = {.name = ""};
    int rc = wire_node_parse (text, &node, err);
    if (rc < 0)
        return rc;
    json_t *body = node.type[0] ? json_pack ("{s:i, s:s}", "slots", node.slots, "type", node.type)
                                : json_pack ("{s:i}", "slots", node.slots);
    if (!body)
        return fail (err, -ENOMEM, "not enough memory for a request");
    rc = simple_request_path (request, client_path ("/v1/nodes/", node.name, "/up").text, true,
                              body, node_print, out, err);
    json_decref (body);
    return rc;
}

static int run_nodes (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    char **words;
    bool quiet = false;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        quiet |= id == NODES_QUIET;
        rc = client_options_take (&request, options, id);
    }
    if (rc < 0)
        return rc;
    int count = options_operands (options, &words);
    bool up = count == 2 && strcmp (words[0], "up") == 0,
         gone = count == 2 && strcmp (words[0], "gone") == 0;
    if (count > 0 && !up && !gone)
        return fail (err, -EINVAL,
                     "expected nothing, 'up NAME:SLOTS[:TYPE]' or 'gone NAME', got %s; see 'pollux "
                     "nodes --help'",
                     quote (words[0]).text);
    if (count > 0 && quiet)
        return fail (err, -EINVAL, "--quiet is for the list of nodes");
    if (up)
        return send_up (&request, words[1], out, err);
    if (gone)
        return simple_request_path (&request, client_path ("/v1/nodes/", words[1], "/gone").text,
                                    true, NULL, node_print, out, err);
    return simple_request_path (&request, "/v1/nodes", false, NULL,
                                quiet ? print_names : print_nodes, out, err);
}

const struct command nodes_command = {
    .name = "nodes",
    .operands = "[up NAME:SLOTS[:TYPE] | gone NAME]",
    .summary = "list the nodes, their slots and the jobs on them",
    .description =
        "Lists the nodes of the daemon's cluster with their slots, how many of these are in\n"
        "use, and which jobs use them.  'up' says that a node of a group exists now and takes\n"
        "replicas, 'gone' that it does not exist any more (admin): hooks and boot scripts use\n"
        "them, and may repeat them.",
    COMMAND_OPTIONS (nodes_options),
    .run = run_nodes,
};
