/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes, one per type, for simulated clusters: in an option, or in a file (YAML or JSON).
 *
 *     t4:6x4,a100:2x8                       six nodes of four t4, two of eight a100
 *
 *     groups:
 *       - {type: t4, nodes: 6, gpus_per_node: 4}
 *       - {type: a100, nodes: 2, gpus_per_node: 8}
 */
#ifndef WIRE_NODE_GROUPS_H
#define WIRE_NODE_GROUPS_H

#include "cluster/node.h"
#include "wire/document.h"
#include "wire/json.h"

/* Nodes of one type. */
struct node_group {
    char type[NAME_SIZE];
    int nodes, slots_per_node;
};

enum { NODE_GROUPS_LIMIT = 16 };

/* 1 to NODE_GROUPS_LIMIT groups, each type once: of an option, of a file's text, of a file.  -EINVAL. */
int wire_node_groups_parse (const char *text, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                            struct pollux_error *err);
int wire_node_groups_parse_file (const char *name, const char *text, size_t length,
                                 enum wire_syntax syntax, struct node_group ret[NODE_GROUPS_LIMIT],
                                 int *count, struct pollux_error *err);
int wire_node_groups_read (const char *path, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                           struct pollux_error *err);

#endif
