/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of fields with '|' between them, as the Slurm commands are asked to write them. */
#ifndef BACKEND_SLURM_LINES_H
#define BACKEND_SLURM_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurm_lines {
    const char *at, *end;
    const char *key; /* lines that do not begin with it are skipped; "": none */
    int number;      /* of the current line, from 1 */
};

/* Split the next line in place: each field gets a NUL at its end.  The last field takes the rest of the line.
 * The text must be writable and have a NUL at its end.  1: a line with at least `least` fields; those that are
 * missing up to `count` are "".  0: no more; -EPROTO: the line has fewer fields.  Empty lines are skipped. */
int slurm_lines_next (struct slurm_lines *lines, char **fields, int least, int count);

/* A field as a number of 0..max; -1: it is not such a number. */
int64_t slurm_field_number (const char *field, int64_t max);

/* A field that may be missing: "(null)", "N/A", "n/a", "None assigned" become "". */
const char *slurm_field_text (const char *field);

#endif
