/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the daemon's answers as text. */
#ifndef CLI_NODE_TEXT_H
#define CLI_NODE_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* "available", "drained", "gone", or the state of a node of a group that is not up. */
const char *node_state (const json_t *node);

/* True if the node does not exist: it is of a group, and off. */
bool node_is_off (const json_t *node);

/* Print one node as a sentence; an answer_printer. */
int node_print (const json_t *node, FILE *out, struct pollux_error *err);

#endif
