/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include "wire/json.h"

/* Refuse fields of an object whose names are not in keys (NULL at the end); each message proposes the
 * nearest known name.  For files that people write: there an unknown field is a mistake. */
int wire_expect_keys (const struct wire_place *object, const char *const *keys,
                      struct pollux_error *err);

#endif
