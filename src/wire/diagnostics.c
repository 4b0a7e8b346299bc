/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics in a list of bounded length, sorted by position: readers check fields in their own
 * order, but a person reads a file from the top.
 */
#include "wire/diagnostics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

static bool before (const struct wire_diagnostic *a, const struct wire_diagnostic *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void wire_diagnostics_add (struct wire_diagnostics *diagnostics,
                           const struct wire_diagnostic *diagnostic)
{
    if (!diagnostics)
        return;
    int at = diagnostics->count;
    while (at > 0 && before (diagnostic, &diagnostics->items[at - 1]))
        at--;
    if (diagnostics->count == WIRE_DIAGNOSTICS_LIMIT) {
        diagnostics->more = true;
        if (at == diagnostics->count)
            return;
        diagnostics->count--;
    }
    memmove (&diagnostics->items[at + 1], &diagnostics->items[at],
             (size_t)(diagnostics->count - at) * sizeof (diagnostics->items[0]));
    diagnostics->items[at] = *diagnostic;
    diagnostics->count++;
}

/* `rest` is appended to the sentence. */
static int fail_with (const struct wire_diagnostic *diagnostic, const char *name, const char *rest,
                      struct pollux_error *err)
{
    const char *path = diagnostic->path, *colon = path[0] ? ": " : "";
    if (diagnostic->line == 0)
        return fail (err, -EINVAL, "%s%s%s%s", path, colon, diagnostic->message, rest);
    return fail (err, -EINVAL, "%s:%d:%d: %s%s%s%s", file_name (name).text, diagnostic->line,
                 diagnostic->column, path, colon, diagnostic->message, rest);
}

int wire_diagnostic_fail (const struct wire_diagnostic *diagnostic, const char *name,
                          struct pollux_error *err)
{
    return fail_with (diagnostic, name, "", err);
}

int wire_diagnostics_fail (const struct wire_diagnostics *diagnostics, const char *name,
                           struct pollux_error *err)
{
    char rest[48] = "";
    if (diagnostics->count > 1)
        snprintf (rest, sizeof (rest), " (and %s%d more)", diagnostics->more ? "at least " : "",
                  diagnostics->count - 1 + diagnostics->more);
    return fail_with (&diagnostics->items[0], name, rest, err);
}

int wire_worse (int code, int other)
{
    return other < 0 && (code == 0 || code == -EINVAL) ? other : code;
}

int wire_diagnostics_conclude (const struct wire_diagnostics *diagnostics, int code,
                               const char *name, struct pollux_error *err)
{
    return code == -EINVAL && diagnostics->count > 0
               ? wire_diagnostics_fail (diagnostics, name, err)
               : code;
}

json_t *wire_diagnostics_encode (const struct wire_diagnostics *diagnostics)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < diagnostics->count; i++) {
        const struct wire_diagnostic *diagnostic = &diagnostics->items[i];
        json_t *object =
            json_pack ("{s:i,s:i,s:s,s:s}", "line", diagnostic->line, "column", diagnostic->column,
                       "path", diagnostic->path, "message", diagnostic->message);
        if (json_array_append_new (array, object) < 0) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}
