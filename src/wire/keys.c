/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuse unknown fields.  If a mistyped field were ignored, the default would silently be used in
 * place of the value in the file.
 */
#include "wire/keys.h"

#include <string.h>

#include "base/nearest.h"

static int expect_key (const struct wire_place *field, const char *const *keys,
                       struct pollux_error *err)
{
    struct nearest nearest = nearest_start (field->key, strlen (field->key));
    for (; *keys; keys++) {
        if (strcmp (field->key, *keys) == 0)
            return 0;
        nearest_try (&nearest, *keys);
    }
    return nearest.best
               ? wire_fail_key (field, err, "no such field; did you mean '%s'?", nearest.best)
               : wire_fail_key (field, err, "no such field");
}

int wire_expect_keys (const struct wire_place *object, const char *const *keys,
                      struct pollux_error *err)
{
    int code = 0, refused = 0;
    struct wire_place field;
    for (void *at = NULL; !wire_stops (object, code) && wire_each (object, &at, &field);) {
        code = expect_key (&field, keys, err);
        refused = wire_worse (refused, code);
    }
    return refused;
}
