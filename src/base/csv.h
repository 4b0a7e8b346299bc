/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables in text files: one header row that names the columns, then rows.
 *
 * Accepted: UTF-8 with or without a byte-order mark; lines that end in LF or CRLF;
 * fields separated by commas, blanks around them ignored; fields in double quotes, a quote
 * inside doubled; blank lines, which are skipped.  Refused, with file, line, column and what was
 * expected: rows with more or fewer fields than the header, columns of the same name, an unclosed
 * quote (a row is one line, so that a missing quote does not affect the rest of the file), control
 * characters, invalid UTF-8, more than the limits.
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
 * times the file: 2.25 GiB in the worst case; about 1.5 times for ordinary files. */
#define CSV_FILE_LIMIT ((size_t)256 << 20)
/* 64 KiB per row: 64 bytes for each column of the largest table. */
#define CSV_ROW_LIMIT ((size_t)64 << 10)
#define CSV_COLUMNS_LIMIT 1024

/* A table.  It does not change: threads may share it. */
struct csv;

/* Read a file ("-": standard input).  On success the caller owns *ret (csv_free).  -EINVAL for the
 * contents, -EFBIG for the size, -ENOMEM, or the error of open(2) or read(2). */
int csv_read (const char *path, struct csv **ret, struct pollux_error *err);

/* The same for a text, which is copied; messages use name in place of the path. */
int csv_parse (const char *name, const char *text, size_t length, struct csv **ret,
               struct pollux_error *err);

void csv_free (struct csv *csv);

/* Data rows, without the header. */
size_t csv_rows (const struct csv *csv);
size_t csv_columns (const struct csv *csv);

/* 0 if there is a data row; else -EINVAL, with the place where the first one should be. */
int csv_expect_rows (const struct csv *csv, struct pollux_error *err);

/* The name of a column in the header; may be empty. */
const char *csv_header (const struct csv *csv, size_t column);

/* The line of a row in the file, from 1. */
size_t csv_line (const struct csv *csv, size_t row);

/* Find a column by its name.  -EINVAL: there is none; err lists the columns. */
int csv_column (const struct csv *csv, const char *name, size_t *ret, struct pollux_error *err);

/* The index of an optional column; csv_columns() if there is none. */
size_t csv_optional_column (const struct csv *csv, const char *name);

/* One field, for row < csv_rows() and column < csv_columns().  A string is valid as long as the
 * table.  Numbers must be in min..max (INT64_MIN, INT64_MAX and infinities: no limit); else -EINVAL
 * with the place. */
const char *csv_string (const struct csv *csv, size_t row, size_t column);
int csv_int64 (const struct csv *csv, size_t row, size_t column, int64_t min, int64_t max,
               int64_t *ret, struct pollux_error *err);
int csv_double (const struct csv *csv, size_t row, size_t column, double min, double max,
                double *ret, struct pollux_error *err);

/* Refuse a field: -EINVAL, and a message that starts with file, line, character and column.  The
 * format says what was expected; the field's text is appended. */
int csv_fail (const struct csv *csv, size_t row, size_t column, struct pollux_error *err,
              const char *format, ...) __attribute__ ((format (printf, 5, 6)));

#endif
