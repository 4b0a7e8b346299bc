/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned tables.  Cells are given one after the other, row by row; widths follow from them.
 *
 *     struct table table = table_start (titles, 3);
 *     table_cell (&table, "%d", nodes);                         columns times per row
 *     code = table_end (&table, terminal, out, err);
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/terminal.h"
#include "pollux/pollux.h"

struct table {
    const char *const *titles; /* one per column; one that starts with '<' is aligned left */
    size_t columns;
    bool failed;
    FILE *stream; /* the cells so far, each with a NUL behind it */
    char *text;
    size_t length;
};

/* The titles must outlive the table.  A failure shows in table_end. */
struct table table_start (const char *const *titles, size_t columns);
void table_cell (struct table *table, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Print the table and free what it holds.  -ENOMEM if it could not be kept. */
int table_end (struct table *table, struct terminal terminal, FILE *out, struct pollux_error *err);

/* Decimals that a column of numbers needs so that its largest one shows that many digits. */
int table_decimals (double largest, int digits);

#endif
