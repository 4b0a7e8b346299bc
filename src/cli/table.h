/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned tables.  Cells are added row by row; the widths are computed at the end.
 *
 *     struct table table = TABLE_START (titles);
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
    FILE *stream; /* the cells so far, each ends with a NUL */
    char *text;
    size_t length;
};

/* The titles must outlive the table.  Failures are reported by table_end. */
struct table table_start (const char *const *titles, size_t columns);
/* A table with all titles of an array. */
#define TABLE_START(titles) table_start ((titles), sizeof (titles) / sizeof ((titles)[0]))
void table_cell (struct table *table, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Print the table and free it.  0 or -ENOMEM. */
int table_end (struct table *table, struct terminal terminal, FILE *out, struct pollux_error *err);

/* The number of decimals with which the largest value has `digits` digits. */
int table_decimals (double largest, int digits);

#endif
