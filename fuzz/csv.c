/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the CSV reader.  All fields of an accepted table can be read, and the table is the same
 * after it was written with all fields quoted and read again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void write_field (FILE *out, const char *text, bool last)
{
    fputc ('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc ('"', out);
        fputc (*text, out);
    }
    fputs (last ? "\"\r\n" : "\",", out);
}

static struct csv *again (const struct csv *csv)
{
    char *text;
    size_t length, columns = csv_columns (csv);
    FILE *out = open_memstream (&text, &length);
    if (!out)
        abort ();
    for (size_t column = 0; column < columns; column++)
        write_field (out, csv_header (csv, column), column + 1 == columns);
    for (size_t row = 0; row < csv_rows (csv); row++) {
        for (size_t column = 0; column < columns; column++)
            write_field (out, csv_string (csv, row, column), column + 1 == columns);
    }
    fclose (out);
    struct csv *ret = NULL;
    struct pollux_error err;
    /* Quoting adds bytes: only the length of a row may be refused. */
    if (csv_parse ("again", text, length, &ret, &err) < 0 && !strstr (err.text, "too long"))
        abort ();
    free (text);
    return ret;
}

/* An accepted number is in its range; a refused one gets a message. */
static void access_field (const struct csv *csv, size_t row, size_t column)
{
    int64_t integer = 0;
    double number = 0;
    struct pollux_error err = {.text = "none"};
    int code = csv_int64 (csv, row, column, -1000, 1000, &integer, &err);
    if (code == 0 ? integer < -1000 || integer > 1000 : strncmp (err.text, "fuzz:", 5) != 0)
        abort ();
    code = csv_double (csv, row, column, -1e300, 1e300, &number, &err);
    if (code == 0 ? !(number >= -1e300 && number <= 1e300) : strncmp (err.text, "fuzz:", 5) != 0)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct csv *csv;
    struct pollux_error err;
    if (csv_parse ("fuzz", (const char *)data, size, &csv, &err) < 0)
        return 0;
    size_t columns = csv_columns (csv), rows = csv_rows (csv), found;
    struct csv *copy = again (csv);
    if (copy && (csv_columns (copy) != columns || csv_rows (copy) != rows))
        abort ();
    for (size_t column = 0; column < columns; column++) {
        const char *name = csv_header (csv, column);
        if (*name && (csv_column (csv, name, &found, &err) < 0 || found != column))
            abort ();
        for (size_t row = 0; row < rows; row++) {
            access_field (csv, row, column);
            if (copy && strcmp (csv_string (csv, row, column), csv_string (copy, row, column)) != 0)
                abort ();
        }
    }
    csv_column (csv, "no such column", &found, &err);
    csv_free (copy);
    csv_free (csv);
    return 0;
}
