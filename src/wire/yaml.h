/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parse a subset of YAML into JSON values with their positions.
 *
 * The subset is unambiguous: one document of mappings, lists and scalars.  Plain scalars follow the
 * core schema of YAML 1.2 (null, ~, true, false, numbers; .inf is read as the text "inf"); every
 * other word is text, also `no` and 12:30.  Refused, with their position: anchors, aliases, tags,
 * keys that are not scalars, the same key twice, .nan, NULs, deep nesting, a second document.
 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

enum {
    WIRE_YAML_DEPTH = 32,      /* a job file has 2 levels */
    WIRE_YAML_NODES = 1 << 18, /* twice a list and a mapping of 2^16 texts each */
};

/* The position of a value.  The children of a node are adjacent, in the order of the JSON value. */
struct wire_yaml_node {
    size_t start, end; /* offsets of its first byte, and after its last one */
    size_t key;        /* offset of its key in a mapping; else start */
    uint32_t child;    /* index of the first child; 0: none */
};

/* Parse well-formed UTF-8 of `length` bytes.  On success the caller owns *ret (json_decref) and
 * *ret_nodes (free).  On failure, -EINVAL or -ENOMEM, *ret_where is the offset of the error. */
int wire_yaml_parse (const char *text, size_t length, json_t **ret,
                     struct wire_yaml_node **ret_nodes, size_t *ret_where,
                     struct pollux_error *err);

#endif
