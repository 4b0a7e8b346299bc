/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned tables.  All cells are kept in one memory stream and read twice: for the widths, and to
 * print.
 */
#include "cli/table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

/* Tables of this program have fewer. */
#define COLUMNS_LIMIT 32

struct table table_start (const char *const *titles, size_t columns)
{
    return (struct table){.titles = titles, .columns = columns};
}

void table_cell (struct table *table, const char *format, ...)
{
    /* Opened at first use: the stream writes to members of the struct, which may not move after that. */
    if (!table->stream && !table->failed)
        table->stream = open_memstream (&table->text, &table->length);
    table->failed |= !table->stream;
    if (table->failed)
        return;
    va_list args;
    va_start (args, format);
    vfprintf (table->stream, format, args);
    va_end (args);
    fputc ('\0', table->stream);
}

static size_t width_of (const char *text)
{
    return utf8_count (text, strlen (text));
}

static void print_padding (size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++)
        fputc (' ', out);
}

/* Print one row, without padding after a left-aligned last column. */
static void print_row (const struct table *table, const char *const *cells, const size_t *widths,
                       FILE *out)
{
    for (size_t i = 0; i < table->columns; i++) {
        bool left = table->titles[i][0] == '<';
        size_t padding = widths[i] - width_of (cells[i]);
        print_padding (i ? 2 : 0, out);
        print_padding (left ? 0 : padding, out);
        fputs (cells[i], out);
        print_padding (left && i + 1 < table->columns ? padding : 0, out);
    }
    fputc ('\n', out);
}

static const char *row_cells (const struct table *table, const char *at, const char **cells)
{
    for (size_t i = 0; i < table->columns; i++) {
        cells[i] = at;
        at += strlen (at) + 1;
    }
    return at;
}

static void print (const struct table *table, struct terminal terminal, FILE *out)
{
    const char *cells[COLUMNS_LIMIT];
    const char *end = table->text + table->length;
    size_t widths[COLUMNS_LIMIT];
    for (size_t i = 0; i < table->columns; i++)
        widths[i] = width_of (table->titles[i]) - (table->titles[i][0] == '<');
    for (const char *at = table->text; at < end;) {
        at = row_cells (table, at, cells);
        for (size_t i = 0; i < table->columns; i++) {
            size_t width = width_of (cells[i]);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    for (size_t i = 0; i < table->columns; i++)
        cells[i] = table->titles[i] + (table->titles[i][0] == '<');
    fputs (terminal.colour ? "\033[1m" : "", out);
    print_row (table, cells, widths, out);
    fputs (terminal.colour ? "\033[0m" : "", out);
    for (const char *at = table->text; at < end;) {
        at = row_cells (table, at, cells);
        print_row (table, cells, widths, out);
    }
}

int table_end (struct table *table, struct terminal terminal, FILE *out, struct pollux_error *err)
{
    bool kept = !table->failed && table->columns <= COLUMNS_LIMIT;
    if (table->stream) {
        kept &= !ferror (table->stream);
        kept &= fclose (table->stream) == 0;
    }
    if (kept)
        print (table, terminal, out);
    free (table->text);
    *table = (struct table){0};
    return kept ? 0 : fail (err, -ENOMEM, "not enough memory for a table");
}

int table_decimals (double largest, int digits)
{
    if (!(largest > 0) || !isfinite (largest))
        return 0;
    int decimals = digits - 1 - (int)floor (log10 (largest));
    return decimals < 0 ? 0 : decimals > 12 ? 12 : decimals;
}
