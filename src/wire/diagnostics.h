/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is wrong with a document, for a person to repair at once.  A document that was opened
 * with problems (wire/document.h) adds whatever its getters refuse.
 */
#ifndef WIRE_DIAGNOSTICS_H
#define WIRE_DIAGNOSTICS_H

#include <jansson.h>
#include <stdbool.h>

#include "pollux/pollux.h"

/* 32: a person who has more of them begins with these. */
enum { WIRE_DIAGNOSTICS_LIMIT = 32 };

struct wire_diagnostic {
    int line, column;  /* from 1; 0: in no file */
    char path[120];    /* jobs[3].model.gamma; "" for the document itself */
    char message[200]; /* "expected ..., got ..." */
};

/* In the order of the document; zero at first. */
struct wire_diagnostics {
    int count;
    bool more; /* the last ones were left out */
    struct wire_diagnostic items[WIRE_DIAGNOSTICS_LIMIT];
};

/* Add one at its place in the order; problems may be NULL. */
void wire_diagnostics_add (struct wire_diagnostics *problems,
                           const struct wire_diagnostic *problem);

/* One as a sentence, FILE:LINE:COLUMN: PATH: MESSAGE, or without a line PATH: MESSAGE; -EINVAL. */
int wire_diagnostic_fail (const struct wire_diagnostic *problem, const char *name,
                          struct pollux_error *err);

/* The first one as a sentence, and how many more there are, with -EINVAL. */
int wire_diagnostics_fail (const struct wire_diagnostics *problems, const char *name,
                           struct pollux_error *err);

/* What a reader returns that goes on after a refusal: of two codes the worse one, where no memory is
 * worse than a refusal; */
int wire_worse (int code, int other);
/* and at its end, for a refusal, with the sentence of the first problem. */
int wire_diagnostics_conclude (const struct wire_diagnostics *problems, int code, const char *name,
                               struct pollux_error *err);

/* [{"line": 3, "column": 5, "path": "max_replicas", "message": "..."}]; NULL: not enough memory. */
json_t *wire_diagnostics_encode (const struct wire_diagnostics *problems);

#endif
