/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux groups: the groups of nodes, what their size aims at, and what they cost.
 */
#include <math.h>
#include <string.h>

#include "cli/answer_text.h"
#include "cli/simple_request.h"
#include "cli/table.h"

static const struct command_option groups_options[] = {CLIENT_OPTION_ROWS};

/* ---- The whole ------------------------------------------------------------------------------ */

static void print_goal (const json_t *answer, FILE *out)
{
    double utility = answer_number (answer, "utility");
    const char *reason = answer_text (answer, "reason");
    fprintf (out, "goal     %s", answer_text (answer, "goal"));
    if (isfinite (utility))
        fprintf (out, "; utility %s", answer_rate (utility).text);
    fputs (answer_true (answer, "changing") ? "; a change of size is not complete\n" : "\n", out);
    if (reason[0])
        fprintf (out, "size     %s (%s ago)\n", reason,
                 answer_duration (answer_number (answer, "now_at") -
                                  answer_number (answer, "resized_at"))
                     .text);
    if (answer_true (answer, "priced"))
        fprintf (out, "cost     %s so far, %s per hour now\n",
                 answer_money (answer_number (answer, "cost")).text,
                 answer_money (answer_number (answer, "price_per_hour")).text);
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* "2 up, 1 failed", and what else there is to say. */
static void put_states (struct table *table, const json_t *group, double now)
{
    json_t *states = json_object_get (group, "states");
    double retry = answer_number (group, "retry_at");
    json_object_del (states, "off");
    struct answer_line line = answer_phases (states);
    if (retry > now)
        table_cell (table, "%s; orders again in %s", line.text, answer_duration (retry - now).text);
    else
        table_cell (table, "%s%s", line.text,
                    answer_true (group, "retired") ? "; not configured any more" : "");
}

static int print_groups (const json_t *answer, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<group", "<type", "slots",    "nodes",  "wanted",
                                         "limits", "price", "per hour", "<states"};
    struct table table = TABLE_START (titles);
    double now = answer_number (answer, "now_at");
    json_t *group;
    size_t i;
    json_array_foreach (json_object_get (answer, "groups"), i, group)
    {
        table_cell (&table, "%s", answer_text (group, "name"));
        table_cell (&table, "%s", answer_or_dash (answer_text (group, "type")).text);
        table_cell (&table, "%s", answer_count (answer_number (group, "gpus_per_node")).text);
        table_cell (&table, "%s", answer_count (answer_number (group, "size")).text);
        table_cell (&table, "%s", answer_count (answer_number (group, "wanted")).text);
        table_cell (&table, "%s-%s", answer_count (answer_number (group, "min")).text,
                    answer_count (answer_number (group, "max")).text);
        table_cell (&table, "%s", answer_money (answer_number (group, "price_per_node_hour")).text);
        table_cell (&table, "%s", answer_money (answer_number (group, "price_per_hour")).text);
        put_states (&table, group, now);
    }
    return table_end (&table, terminal_of (out), out, err);
}

/* ---- Nodes that are neither off nor up ------------------------------------------------------- */

static void put_deadline (struct table *table, double left_s)
{
    if (isnan (left_s))
        table_cell (table, "-");
    else if (left_s > 0)
        table_cell (table, "in %s", answer_duration (left_s).text);
    else
        table_cell (table, "passed");
}

static bool is_up (const json_t *node)
{
    return strcmp (answer_text (node, "state"), "up") == 0;
}

static void put_nodes (struct table *table, const json_t *group, double now)
{
    json_t *node;
    size_t i;
    json_array_foreach (json_object_get (group, "nodes"), i, node)
    {
        if (is_up (node))
            continue;
        table_cell (table, "%s", answer_text (node, "name"));
        table_cell (table, "%s", answer_text (node, "state"));
        table_cell (table, "%s", answer_duration (now - answer_number (node, "since_at")).text);
        put_deadline (table, answer_number (node, "deadline_at") - now);
        table_cell (table, "%s", answer_count (answer_number (node, "failures")).text);
    }
}

static bool all_up (const json_t *groups)
{
    json_t *group, *node;
    size_t i, k;
    json_array_foreach ((json_t *)groups, i, group)
    {
        json_array_foreach (json_object_get (group, "nodes"), k, node)
        {
            if (!is_up (node))
                return false;
        }
    }
    return true;
}

static int print_changing (const json_t *answer, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<node", "<state", "since", "deadline", "failures"};
    const json_t *groups = json_object_get (answer, "groups");
    json_t *group;
    size_t i;
    if (all_up (groups))
        return 0;
    struct table table = TABLE_START (titles);
    json_array_foreach ((json_t *)groups, i, group)
    {
        put_nodes (&table, group, answer_number (answer, "now_at"));
    }
    fputc ('\n', out);
    return table_end (&table, terminal_of (out), out, err);
}

static int print (const json_t *answer, FILE *out, struct pollux_error *err)
{
    if (json_array_size (json_object_get (answer, "groups")) == 0) {
        fputs ("The cluster has no groups of nodes: its size does not change by itself.\n", out);
        return 0;
    }
    print_goal (answer, out);
    fputc ('\n', out);
    int rc = print_groups (answer, out, err);
    return rc < 0 ? rc : print_changing (answer, out, err);
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    int rc = client_options_parse (options, &request, err);
    if (rc == 0)
        rc = client_options_no_operand (options, err);
    return rc < 0 ? rc : simple_request_path (&request, "/v1/groups", false, NULL, print, out, err);
}

const struct command groups_command = {
    .name = "groups",
    .operands = "",
    .summary = "list the groups of nodes, their sizes and costs",
    .description =
        "Prints what the size of the cluster aims at, why it changed last, and for each group how\n"
        "many nodes it has (ordered or up) and should have, the price of a node and of all its\n"
        "nodes per hour, and the nodes that are neither up nor off.",
    COMMAND_OPTIONS (groups_options),
    .run = run,
};
