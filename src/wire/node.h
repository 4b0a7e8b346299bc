/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_NODE_H
#define WIRE_NODE_H

#include "cluster/node.h"
#include "wire/json.h"

/* Parse NAME:SLOTS or NAME:SLOTS:TYPE, such as left:4, with names that wire_is_job accepts and 1 to
 * SLOTS_LIMIT slots.  The node is available. */
int wire_node_parse (const char *text, struct node *ret, struct pollux_error *err);

/* Decode such a text, or {name: left, slots: 4, type: gpu}. */
int wire_node_decode (const struct wire_place *place, struct node *ret, struct pollux_error *err);

#endif
