/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables in text files: one header row that names the columns, then rows.
 *
 * What is accepted: UTF-8 with or without a byte-order mark; lines that end in LF or CRLF;
 * fields separated by commas, blanks around them ignored; fields in double quotes, a quote
 * inside doubled; blank lines anywhere, skipped.  What is refused, with file, line, column and
 * what was expected: rows with more or fewer fields than the header, columns of the same name,
 * an unclosed quote (a row is one line, so that a forgotten quote does not swallow the rest of
 * the file), control characters, invalid UTF-8, anything past the limits.
 *
 *     struct csv *csv;
 *     size_t nodes;
 *     int64_t value;
 *     if ((code = csv_read (path, &csv, err)) < 0)
 *         return code;
 *     code = csv_column (csv, "nodes", &nodes, err);
 *     for (size_t row = 0; code == 0 && row < csv_rows (csv); row++)
 *         code = csv_int64 (csv, row, nodes, 1, 1000, &value, err);
 *     csv_free (csv);
 *
 * Rows and columns are counted from 0 in the program and from 1 in messages, which look like
 *     samples.csv:7:12: column 'nodes': expected an integer from 1 to 1000, got '0'
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

/* 256 MiB: 268 bytes for each of a million rows.  The index takes 4 bytes per field and 8 per
 * row; a field has at least one byte of text and a row two, so that memory stays below nine
 * times the file: 2.25 GiB for the most hostile one, and about 1.5 times for ordinary ones. */
#define CSV_FILE_LIMIT ((size_t)256 << 20)
/* 64 KiB in one row: each of the columns below could hold a text of 64 bytes. */
#define CSV_ROW_LIMIT ((size_t)64 << 10)
#define CSV_COLUMNS_LIMIT 1024

/* A table, read and split.  Constant once made: threads may share it. */
struct csv;

/* Read a file, or the standard input where path is "-".  On success *ret belongs to the caller
 * (csv_free).  On failure *ret is untouched: -EINVAL for what the file says, -EFBIG for its
 * size, -ENOMEM, or the errno value of open(2) and read(2). */
int csv_read (const char *path, struct csv **ret, struct pollux_error *err);

/* The same from memory; the text is copied, name stands for the file in messages. */
int csv_parse (const char *name, const char *text, size_t length, struct csv **ret,
               struct pollux_error *err);

void csv_free (struct csv *csv);

/* Data rows, without the header. */
size_t csv_rows (const struct csv *csv);
size_t csv_columns (const struct csv *csv);

/* 0 if there is a data row; otherwise -EINVAL, with the place where the first one should be. */
int csv_expect_rows (const struct csv *csv, struct pollux_error *err);

/* The header's name of a column; empty where it has none. */
const char *csv_header (const struct csv *csv, size_t column);

/* The line of the file in which a row stands, counted from 1. */
size_t csv_line (const struct csv *csv, size_t row);

/* Find a column by its name.  -EINVAL if there is none; the sentence lists those there are. */
int csv_column (const struct csv *csv, const char *name, size_t *ret, struct pollux_error *err);

/* The same for a column that may be missing: its index, or csv_columns() if there is none. */
size_t csv_optional_column (const struct csv *csv, const char *name);

/* One field, for row < csv_rows() and column < csv_columns().  A string lives as long as the
 * table.  Numbers must be in min..max (INT64_MIN, INT64_MAX and the infinities: no limit);
 * -EINVAL otherwise, with the place. */
const char *csv_string (const struct csv *csv, size_t row, size_t column);
int csv_int64 (const struct csv *csv, size_t row, size_t column, int64_t min, int64_t max,
               int64_t *ret, struct pollux_error *err);
int csv_double (const struct csv *csv, size_t row, size_t column, double min, double max,
                double *ret, struct pollux_error *err);

/* Refuse a field for a reason of the caller's: -EINVAL, and a sentence that starts with file,
 * line, character and column.  The format continues it and says what was expected; the field's
 * text is added at the end. */
int csv_fail (const struct csv *csv, size_t row, size_t column, struct pollux_error *err,
              const char *format, ...) __attribute__ ((format (printf, 5, 6)));

#endif
