/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: groups of nodes, as an option and as a file in YAML and in JSON.  Accepted groups are within their limits,
 * and written as a file they are read again.
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

/* The groups as the text of a file, from malloc. */
static char *write_groups (const struct node_group *groups, int count)
{
    json_t *list = json_array (), *root = json_pack ("{s:o}", "groups", list);
    demand (root != NULL);
    for (int i = 0; i < count; i++) {
        json_t *group = json_object ();
        demand (json_array_append_new (list, group) == 0);
        demand (wire_node_group_put (&groups[i], group, NULL) == 0);
    }
    char *text = json_dumps (root, JSON_REAL_PRECISION (17));
    json_decref (root);
    demand (text != NULL);
    return text;
}

/* Groups are legal, and come back from a file; a refusal has a message. */
static void check (int code, const struct node_group *groups, int count,
                   const struct pollux_error *err)
{
    struct node_group again[NODE_GROUPS_LIMIT];
    int same = 0;
    demand (code == 0 || (code < 0 && *err->text));
    if (code < 0)
        return;
    demand (count >= 1 && count <= NODE_GROUPS_LIMIT);
    for (int i = 0; i < count; i++) {
        const struct node_group *group = &groups[i];
        char name[NAME_SIZE];
        int last = group->max_nodes - 1;
        demand (node_group_check (group, NULL, NULL) == 0 && group->slots_per_node >= 1 &&
                group->max_nodes <= NODES_LIMIT);
        if (last >= 0) {
            node_group_node (group, last, name);
            demand (node_group_index (group, name) == last);
        }
        for (int j = 0; j < i; j++)
            demand (!node_groups_overlap (group, &groups[j]) &&
                    !node_groups_overlap (&groups[j], group));
    }
    char *first = write_groups (groups, count);
    demand (wire_node_groups_parse_file ("file", first, strlen (first), WIRE_JSON, again, &same,
                                         NULL) == 0 &&
            same == count);
    char *second = write_groups (again, count);
    demand (strcmp (first, second) == 0);
    free (first);
    free (second);
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
