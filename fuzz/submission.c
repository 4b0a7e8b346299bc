/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: job files, as YAML and as JSON.  A refusal has diagnostics in order, with lines that
 * exist.  An accepted submission satisfies its header, and is the same text after encoding and
 * parsing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/submission.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void check_diagnostics (const struct wire_diagnostics *diagnostics, const char *text,
                               size_t size)
{
    int lines = 1, last = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    must (diagnostics->count >= 1);
    for (int i = 0; i < diagnostics->count; i++) {
        const struct wire_diagnostic *diagnostic = &diagnostics->items[i];
        must (diagnostic->line >= last && diagnostic->line <= lines && diagnostic->column >= 1);
        must (diagnostic->message[0]);
        must (utf8_valid (diagnostic->message, strlen (diagnostic->message)) ==
              strlen (diagnostic->message));
        last = diagnostic->line;
    }
    json_t *array = wire_diagnostics_encode (diagnostics);
    must (json_array_size (array) == (size_t)diagnostics->count);
    json_decref (array);
}

static void check_job (const struct wire_submission *submission)
{
    const struct job_spec *spec = &submission->spec;
    const struct job job = {.spec = *spec};
    must (spec->max_replicas >= 1 && spec->min_replicas <= spec->max_replicas);
    must (job_next_replicas (&job, 0) > 0 && job_allows (&job, spec->fixed_replicas));
    must (submission->launch->command[0] && submission->launch->command[0][0]);
    must (!submission->launch->directory || submission->launch->directory[0] == '/');
    for (char **at = submission->launch->environment; *at; at++)
        must (strchr (*at, '=') && strncmp (*at, "POLLUX_", 7) != 0);
}

static char *encode (const struct wire_submission *submission)
{
    struct pollux_error err;
    json_t *object = wire_submission_encode (submission, &err);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    must (text != NULL);
    return text;
}

static void check_round_trip (const char *text, enum wire_syntax syntax)
{
    struct wire_submission submission;
    struct pollux_error err;
    int code = wire_submission_parse ("fuzz", text, strlen (text), syntax, NULL, &submission, &err);
    if (code == -EFBIG) /* escapes and defaults make it longer */
        return;
    must (code == 0);
    char *again = encode (&submission);
    must (strcmp (text, again) == 0);
    free (again);
    wire_submission_clear (&submission);
}

static void try (const char *text, size_t size, enum wire_syntax syntax)
{
    struct wire_submission submission;
    struct wire_diagnostics diagnostics = {0};
    struct pollux_error err = {""};
    int code = wire_submission_parse ("fuzz", text, size, syntax, &diagnostics, &submission, &err);
    if (code < 0) {
        must (code == -EINVAL || code == -EFBIG);
        must (strncmp (err.text, "fuzz:", 5) == 0);
        if (code == -EINVAL)
            check_diagnostics (&diagnostics, text, size);
        return;
    }
    must (diagnostics.count == 0);
    check_job (&submission);
    char *json = encode (&submission);
    wire_submission_clear (&submission);
    check_round_trip (json, WIRE_JSON);
    free (json);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    try ((const char *)data, size, WIRE_YAML);
    try ((const char *)data, size, WIRE_JSON);
    return 0;
}
