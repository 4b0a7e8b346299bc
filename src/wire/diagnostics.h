/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All errors in a document, so that a person can repair them at once.  If a document is opened with
 * diagnostics (wire/document.h), every refusal of a getter is added to them.
 */
#ifndef WIRE_DIAGNOSTICS_H
#define WIRE_DIAGNOSTICS_H

#include <jansson.h>
#include <stdbool.h>

#include "pollux/pollux.h"

/* More than 32 errors are repaired in several steps. */
enum { WIRE_DIAGNOSTICS_LIMIT = 32 };

struct wire_diagnostic {
    int line, column;  /* from 1; 0: not in a file */
    char path[120];    /* jobs[3].model.gamma; "" for the document itself */
    char message[200]; /* "expected ..., got ..." */
};

/* In the order of the document.  Starts zeroed. */
struct wire_diagnostics {
    int count;
    bool more; /* there were more than the limit */
    struct wire_diagnostic items[WIRE_DIAGNOSTICS_LIMIT];
};

/* Insert one in order.  Does nothing if diagnostics is NULL. */
void wire_diagnostics_add (struct wire_diagnostics *diagnostics,
                           const struct wire_diagnostic *diagnostic);

/* Write one into err, as FILE:LINE:COLUMN: PATH: MESSAGE, or PATH: MESSAGE without a line.
 * Returns -EINVAL. */
int wire_diagnostic_fail (const struct wire_diagnostic *diagnostic, const char *name,
                          struct pollux_error *err);

/* Write the first one and the number of the others into err.  Returns -EINVAL. */
int wire_diagnostics_fail (const struct wire_diagnostics *diagnostics, const char *name,
                           struct pollux_error *err);

/* Combine two codes of a reader that continues after -EINVAL: any other failure wins over -EINVAL,
 * and -EINVAL over 0. */
int wire_worse (int code, int other);
/* The result of such a reader: for -EINVAL, err gets the first diagnostic. */
int wire_diagnostics_conclude (const struct wire_diagnostics *diagnostics, int code,
                               const char *name, struct pollux_error *err);

/* As [{"line": 3, "column": 5, "path": "max_replicas", "message": "..."}].  NULL: no memory. */
json_t *wire_diagnostics_encode (const struct wire_diagnostics *diagnostics);

#endif
