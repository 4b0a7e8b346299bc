/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as the values that JSON has, and where each of them stands.
 *
 * A subset, so that a file means one thing to everybody: one document of mappings, lists and
 * scalars.  Plain scalars are those of the core schema of YAML 1.2 (null ~, true, false, numbers,
 * .inf as the text "inf"); every other word is text: `no` is a text, and so is 12:30.  Refused with
 * their place: anchors and aliases, tags, keys that are no scalars, the same key twice, .nan, NULs,
 * deep nesting, a second document.
 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

enum {
    WIRE_YAML_DEPTH = 32,      /* a job file has 2 levels */
    WIRE_YAML_NODES = 1 << 18, /* a list of 2^16 texts and a mapping of as many, twice */
};

/* Where a value stands.  The children of a node are neighbours, in the order of the JSON value that
 * they became. */
struct wire_yaml_node {
    size_t start, end; /* offsets of its first byte and behind its last */
    size_t key;        /* that of its key, if it is in a mapping */
    uint32_t child;    /* its first; 0: none, for 0 is the root */
};

/* Parse well-formed UTF-8 of `length` bytes.  On success *ret (json_decref) and *ret_nodes (free)
 * belong to the caller.  On failure *ret_where is the offset that the sentence speaks of: -EINVAL,
 * or -ENOMEM. */
int wire_yaml_parse (const char *text, size_t length, json_t **ret,
                     struct wire_yaml_node **ret_nodes, size_t *ret_where,
                     struct pollux_error *err);

#endif
