/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include "wire/json.h"

/* Refuse the fields of an object that are none of these names (NULL at the end), each with the name
 * that is nearest to it: in files that people write, an unknown field is a mistake. */
int wire_expect_keys (const struct wire_place *object, const char *const *keys,
                      struct pollux_error *err);

#endif
