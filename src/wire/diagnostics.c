/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems as a sorted list of bounded length.  Readers ask for fields in their own order and then
 * for unknown ones; people read from the top.
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

void wire_diagnostics_add (struct wire_diagnostics *problems, const struct wire_diagnostic *problem)
{
    if (!problems)
        return;
    int at = problems->count;
    while (at > 0 && before (problem, &problems->items[at - 1]))
        at--;
    if (problems->count == WIRE_DIAGNOSTICS_LIMIT) {
        problems->more = true;
        if (at == problems->count)
            return;
        problems->count--;
    }
    memmove (&problems->items[at + 1], &problems->items[at],
             (size_t)(problems->count - at) * sizeof (problems->items[0]));
    problems->items[at] = *problem;
    problems->count++;
}

/* The rest is said at the end. */
static int fail_with (const struct wire_diagnostic *problem, const char *name, const char *rest,
                      struct pollux_error *err)
{
    const char *path = problem->path, *colon = path[0] ? ": " : "";
    if (problem->line == 0)
        return fail (err, -EINVAL, "%s%s%s%s", path, colon, problem->message, rest);
    return fail (err, -EINVAL, "%s:%d:%d: %s%s%s%s", file_name (name).text, problem->line,
                 problem->column, path, colon, problem->message, rest);
}

int wire_diagnostic_fail (const struct wire_diagnostic *problem, const char *name,
                          struct pollux_error *err)
{
    return fail_with (problem, name, "", err);
}

int wire_diagnostics_fail (const struct wire_diagnostics *problems, const char *name,
                           struct pollux_error *err)
{
    char rest[48] = "";
    if (problems->count > 1)
        snprintf (rest, sizeof (rest), " (and %s%d more)", problems->more ? "at least " : "",
                  problems->count - 1 + problems->more);
    return fail_with (&problems->items[0], name, rest, err);
}

int wire_worse (int code, int other)
{
    return other < 0 && (code == 0 || code == -EINVAL) ? other : code;
}

int wire_diagnostics_conclude (const struct wire_diagnostics *problems, int code, const char *name,
                               struct pollux_error *err)
{
    return code == -EINVAL && problems->count > 0 ? wire_diagnostics_fail (problems, name, err)
                                                  : code;
}

json_t *wire_diagnostics_encode (const struct wire_diagnostics *problems)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < problems->count; i++) {
        const struct wire_diagnostic *problem = &problems->items[i];
        json_t *object =
            json_pack ("{s:i,s:i,s:s,s:s}", "line", problem->line, "column", problem->column,
                       "path", problem->path, "message", problem->message);
        if (json_array_append_new (array, object) < 0) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}
