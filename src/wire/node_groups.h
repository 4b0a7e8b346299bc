/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes: in an option of the simulator, or in a file (YAML or JSON), also for polluxd.
 *
 *     t4:6x4,a100:2x8                       six nodes of four t4, two of eight a100
 *
 *     groups:
 *       - {type: t4, nodes: 6, gpus_per_node: 4}
 *       - {name: spot, type: a100, gpus_per_node: 8, min: 0, max: 16, boot_s: 180, price_per_node_hour: 9.8,
 *          revocable: true, notice_s: 120, revocations_per_day: 2}
 */
#ifndef WIRE_NODE_GROUPS_H
#define WIRE_NODE_GROUPS_H

#include "cluster/node_group.h"
#include "wire/document.h"
#include "wire/json.h"

/* 1 to NODE_GROUPS_LIMIT groups, each name once: of an option, of a file's text, of a file.  -EINVAL. */
int wire_node_groups_parse (const char *text, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                            struct pollux_error *err);
int wire_node_groups_parse_file (const char *name, const char *text, size_t length,
                                 enum wire_syntax syntax, struct node_group ret[NODE_GROUPS_LIMIT],
                                 int *count, struct pollux_error *err);
int wire_node_groups_read (const char *path, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                           struct pollux_error *err);

/* One group as in a file.  Encoding writes what decoding reads. */
int wire_node_group_decode (const struct wire_place *place, struct node_group *ret,
                            struct pollux_error *err);
int wire_node_group_put (const struct node_group *group, json_t *object, struct pollux_error *err);

/* A goal and 0 to NODE_GROUPS_LIMIT groups, as the fields `goal` and `groups` of an object. */
int wire_goal_groups_decode (const struct wire_place *object, struct goal *goal,
                             struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                             struct pollux_error *err);
int wire_goal_groups_put (const struct goal *goal, const struct node_group *groups, int count,
                          json_t *object, struct pollux_error *err);

#endif
