/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the administrator that polluxd runs, with names as arguments: a list of words, or a text for /bin/sh -c.
 *
 *     grow: [/usr/local/bin/order-nodes, --zone, b]      order-nodes --zone b NAME...
 *     grow: order-nodes --zone b                         the same: a text without $ gets "$@" at its end
 *     grow: for n in "$@"; do order-node $n; done        as it is
 */
#ifndef WIRE_HOOK_H
#define WIRE_HOOK_H

#include "wire/json.h"

/* The words of a text, NULL-terminated, before the names; name is the shell's $0.  The caller's
 * (wire_strings_free).  -EINVAL, -ENOMEM. */
int wire_hook_parse (const char *text, const char *name, char ***ret, struct pollux_error *err);

/* Read the field of that name into *ret, which is freed before; without the field it stays. */
int wire_hook_decode (const struct wire_place *object, const char *key, char ***ret,
                      struct pollux_error *err);

#endif
