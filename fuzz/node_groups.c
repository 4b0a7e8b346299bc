/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: groups of nodes, as an option and as a file in YAML and in JSON.  Accepted groups are within their limits,
 * and written as an option they are read again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/node_groups.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void demand (bool truth)
{
    if (!truth)
        abort ();
}

static void check (int code, const struct node_group *groups, int count,
                   const struct pollux_error *err)
{
    struct node_group again[NODE_GROUPS_LIMIT];
    char text[NODE_GROUPS_LIMIT * (NAME_SIZE + 24)] = "";
    size_t length = 0;
    int same;
    demand (code == 0 || (code < 0 && *err->text));
    if (code < 0)
        return;
    demand (count >= 1 && count <= NODE_GROUPS_LIMIT);
    for (int i = 0; i < count; i++) {
        const struct node_group *group = &groups[i];
        demand (group->type[0] && group->nodes >= 1 && group->nodes <= NODES_LIMIT &&
                group->slots_per_node >= 1 && group->slots_per_node <= SLOTS_LIMIT);
        length += (size_t)snprintf (text + length, sizeof (text) - length, "%s%s:%dx%d",
                                    i ? "," : "", group->type, group->nodes, group->slots_per_node);
    }
    demand (wire_node_groups_parse (text, again, &same, NULL) == 0 && same == count);
    demand (memcmp (groups, again, (size_t)count * sizeof (groups[0])) == 0);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct node_group groups[NODE_GROUPS_LIMIT];
    struct pollux_error err = {.text = ""};
    int count = 0;
    char *text = malloc (size + 1);
    if (!text)
        return 0;
    memcpy (text, data, size);
    text[size] = '\0';
    int code = wire_node_groups_parse (text, groups, &count, &err);
    check (code, groups, count, &err);
    for (int i = 0; i < 2; i++) {
        code = wire_node_groups_parse_file ("file", text, size, i ? WIRE_JSON : WIRE_YAML, groups,
                                            &count, &err);
        check (code, groups, count, &err);
    }
    free (text);
    return 0;
}
