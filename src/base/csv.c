/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV reader.  The whole file is in one buffer.  One pass splits it in place: a NUL replaces the
 * comma or line end after a field, and the field's offset goes into an index.
 *
 *     text    n o d e s , n a m e \n 2 , " a " " b " \n
 *             |           |          |     |
 *     fields  0           6          11    14        (a"b, moved left over the doubled quote)
 *     rows    {line 1, start 0}      {line 2, start 11}
 *
 * Row 0 of the index is the header.  Fields keep their start, and removed quotes are replaced by
 * NULs at the field's end, so that a field's column in the original line can be counted later.
 */
#include "base/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/number.h"
#include "base/utf8.h"

struct csv_row {
    uint32_t line, start; /* line from 1; offset of the first byte */
};

struct csv {
    struct file_name name;
    char *text; /* length bytes and a NUL */
    size_t length;
    uint32_t *fields; /* offsets, `columns` of them per row */
    struct csv_row *rows;
    size_t columns, row_count; /* rows including the header */
};

_Static_assert(CSV_FILE_LIMIT < UINT32_MAX, "an offset fits into 32 bits");

static size_t field_offset (const struct csv *csv, size_t row, size_t column)
{
    return csv->fields[(row + 1) * csv->columns + column];
}

/* ---- Messages ----------------------------------------------------------------------------- */

/* Refuse the text at an offset in a row. */
__attribute__ ((format (printf, 5, 6))) static int fail_at (const struct csv *csv,
                                                            struct csv_row row, size_t offset,
                                                            struct pollux_error *err,
                                                            const char *format, ...)
{
    struct pollux_error why;
    va_list args;
    va_start (args, format);
    vsnprintf (why.text, sizeof (why.text), format, args);
    va_end (args);
    size_t character = utf8_count (csv->text + row.start, offset - row.start) + 1;
    return fail (err, -EINVAL, "%s:%" PRIu32 ":%zu: %s", csv->name.text, row.line, character,
                 why.text);
}

int csv_fail (const struct csv *csv, size_t row, size_t column, struct pollux_error *err,
              const char *format, ...)
{
    struct pollux_error why;
    va_list args;
    va_start (args, format);
    vsnprintf (why.text, sizeof (why.text), format, args);
    va_end (args);
    const char *field = csv_string (csv, row, column);
    return fail_at (csv, csv->rows[row + 1], field_offset (csv, row, column), err,
                    "column %s: %s, got %s", quote (csv_header (csv, column)).text, why.text,
                    *field ? quote (field).text : "nothing");
}

/* ---- Splitting ---------------------------------------------------------------------------- */

/* Bytes that end a run of ordinary ones in a field: separators, quotes, line ends, and control
 * characters.  The NUL at the end of the text is one of them. */
static const bool special[256] = {
    [0 ... 8] = true, [10 ... 31] = true, ['"'] = true, [','] = true, [127] = true};

static bool is_special (char byte)
{
    return special[(unsigned char)byte];
}

static bool is_blank (char byte)
{
    return byte == ' ' || byte == '\t';
}

static size_t skip_blanks (const struct csv *csv, size_t at)
{
    while (is_blank (csv->text[at]))
        at++;
    return at;
}

/* Bytes of the line end at an offset: LF, CRLF or the end of the file (0); -1 if there is none. */
static int line_end (const struct csv *csv, size_t at)
{
    if (at == csv->length)
        return 0;
    if (csv->text[at] == '\n')
        return 1;
    return csv->text[at] == '\r' && csv->text[at + 1] == '\n' ? 2 : -1;
}

static int fail_byte (const struct csv *csv, struct csv_row row, size_t at,
                      struct pollux_error *err)
{
    unsigned char byte = (unsigned char)csv->text[at];
    if (byte == '"')
        return fail_at (csv, row, at, err,
                        "quote inside a field: expected the whole field in quotes, with quotes "
                        "inside doubled");
    if (byte == '\r')
        return fail_at (csv, row, at, err,
                        "carriage return inside a line: expected lines that end in LF or CRLF");
    return fail_at (csv, row, at, err, "control character 0x%02x: expected a text file", byte);
}

/* Remove the quotes of the field whose opening quote is at *at, and move *at after the closing one
 * and the blanks that follow it. */
static int split_quoted (struct csv *csv, struct csv_row row, size_t *at, struct pollux_error *err)
{
    char *text = csv->text;
    size_t from = *at + 1, to = from;
    for (;; from++) {
        if (text[from] == '"') {
            if (text[from + 1] != '"')
                break;
            from++;
        } else if (line_end (csv, from) >= 0) {
            return fail_at (csv, row, *at, err,
                            "quote is never closed: expected another one in the same line");
        } else if (text[from] != ',' && is_special (text[from])) {
            memset (text + to, '\0', from - to);
            return fail_byte (csv, row, from, err);
        }
        text[to++] = text[from];
    }
    memset (text + to, '\0', from + 1 - to);
    *at = skip_blanks (csv, from + 1);
    if (text[*at] != ',' && line_end (csv, *at) < 0)
        return fail_at (csv, row, *at, err, "expected a comma or the line's end after the quote");
    return 0;
}

/* Split the line at *at into at most `most` fields, and move *at after the line.  Returns the number
 * of fields, or an error. */
static int split_line (struct csv *csv, struct csv_row row, size_t *at, uint32_t *fields,
                       size_t most, struct pollux_error *err)
{
    char *text = csv->text;
    size_t p = *at;
    for (size_t count = 1;; count++) {
        p = skip_blanks (csv, p);
        size_t start = p, end;
        if (text[p] == '"') {
            int code = split_quoted (csv, row, &p, err);
            if (code < 0)
                return code;
            start++;
            end = p;
        } else {
            while (!is_special (text[p]))
                p++;
            for (end = p; end > start && is_blank (text[end - 1]);)
                end--;
        }
        fields[count - 1] = (uint32_t)start;
        char separator = text[p];
        int eol = line_end (csv, p);
        if (separator != ',' && eol < 0)
            return fail_byte (csv, row, p, err);
        text[end] = '\0';
        if (eol >= 0) {
            *at = p + (size_t)eol;
            if (p - row.start > CSV_ROW_LIMIT)
                return fail_at (csv, row, p, err, "line too long: expected at most %zu bytes",
                                CSV_ROW_LIMIT);
            return (int)count;
        }
        p++;
        if (count == most)
            return fail_at (csv, row, p, err, "too many fields: expected %s%zu",
                            row.start == csv->rows[0].start ? "at most " : "", most);
    }
}

/* Find the next line that is not blank, from *at.  False at the end of the file. */
static bool next_line (const struct csv *csv, size_t *at, struct csv_row *row)
{
    for (;;) {
        if (*at == csv->length)
            return false;
        row->line++;
        row->start = (uint32_t)*at;
        size_t p = skip_blanks (csv, *at);
        int eol = line_end (csv, p);
        if (eol < 0)
            return true;
        *at = p + (size_t)eol;
    }
}

static int split_header (struct csv *csv, size_t *at, struct csv_row *row, uint32_t *fields,
                         struct pollux_error *err)
{
    if (!next_line (csv, at, row))
        return fail (err, -EINVAL, "%s:1:1: empty file: expected a line that names the columns",
                     csv->name.text);
    csv->rows[0] = *row;
    int count = split_line (csv, *row, at, fields, CSV_COLUMNS_LIMIT, err);
    for (int i = 0; i < count; i++) {
        const char *name = csv->text + fields[i];
        for (int j = 0; j < i && *name; j++) {
            if (strcmp (name, csv->text + fields[j]) == 0)
                return fail_at (csv, *row, fields[i], err,
                                "column %s appears twice: expected different names",
                                quote (name).text);
        }
    }
    return count;
}

static size_t count_lines (const struct csv *csv)
{
    size_t lines = 1;
    const char *end = csv->text + csv->length;
    for (const char *p = csv->text; (p = memchr (p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

static int check_text (const struct csv *csv, struct pollux_error *err)
{
    size_t valid = utf8_valid (csv->text, csv->length);
    if (valid == csv->length)
        return 0;
    struct csv_row row = {.line = 1};
    for (size_t i = 0; i < valid; i++) {
        if (csv->text[i] == '\n')
            row = (struct csv_row){.line = row.line + 1, .start = (uint32_t)i + 1};
    }
    return fail_at (csv, row, valid, err, "byte 0x%02x: expected text in UTF-8",
                    (unsigned char)csv->text[valid]);
}

/* Split csv->text.  Both arrays get their largest possible size first: a field takes at least the
 * byte that ends it, a row one line. */
static int split (struct csv *csv, struct pollux_error *err)
{
    int code = check_text (csv, err);
    if (code < 0)
        return code;
    size_t lines = count_lines (csv);
    csv->rows = malloc (lines * sizeof (*csv->rows));
    if (!csv->rows)
        goto memory;
    size_t at = strncmp (csv->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct csv_row row = {.line = 0};
    uint32_t header[CSV_COLUMNS_LIMIT];
    int count = split_header (csv, &at, &row, header, err);
    if (count < 0)
        return count;
    csv->columns = (size_t)count;
    csv->row_count = 1;
    size_t fields = lines * csv->columns;
    fields = fields < csv->length + 1 ? fields : csv->length + 1;
    csv->fields = malloc (fields * sizeof (*csv->fields));
    if (!csv->fields)
        goto memory;
    memcpy (csv->fields, header, csv->columns * sizeof (*header));
    while (next_line (csv, &at, &row)) {
        uint32_t *next = csv->fields + csv->row_count * csv->columns;
        count = split_line (csv, row, &at, next, csv->columns, err);
        if (count < 0)
            return count;
        if ((size_t)count < csv->columns)
            return fail_at (csv, row, row.start, err,
                            "too few fields: expected %zu as in the header, got %d", csv->columns,
                            count);
        csv->rows[csv->row_count++] = row;
    }
    return 0;
memory:
    return fail (err, -ENOMEM, "%s: not enough memory for %zu lines", csv->name.text, lines);
}

/* Make a table.  It owns text from now on; on failure text is freed. */
static int csv_new (const char *name, char *text, size_t length, struct csv **ret,
                    struct pollux_error *err)
{
    struct csv *csv = calloc (1, sizeof (*csv));
    if (!csv) {
        free (text);
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    }
    csv->name = file_name (name);
    csv->text = text;
    csv->length = length;
    int code = split (csv, err);
    if (code < 0)
        csv_free (csv);
    else
        *ret = csv;
    return code;
}

int csv_read (const char *path, struct csv **ret, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = file_read (path, CSV_FILE_LIMIT, &text, &length, err);
    return code < 0 ? code : csv_new (path, text, length, ret, err);
}

int csv_parse (const char *name, const char *text, size_t length, struct csv **ret,
               struct pollux_error *err)
{
    char *copy;
    int code = file_copy_text (name, text, length, CSV_FILE_LIMIT, &copy, err);
    return code < 0 ? code : csv_new (name, copy, length, ret, err);
}

void csv_free (struct csv *csv)
{
    if (!csv)
        return;
    free (csv->text);
    free (csv->fields);
    free (csv->rows);
    free (csv);
}

/* ---- Access ------------------------------------------------------------------------------- */

size_t csv_rows (const struct csv *csv)
{
    return csv->row_count - 1;
}

int csv_expect_rows (const struct csv *csv, struct pollux_error *err)
{
    if (csv_rows (csv) > 0)
        return 0;
    return fail (err, -EINVAL,
                 "%s:%" PRIu32 ":1: no data: expected at least one row below the header",
                 csv->name.text, csv->rows[0].line + 1);
}

size_t csv_columns (const struct csv *csv)
{
    return csv->columns;
}

const char *csv_header (const struct csv *csv, size_t column)
{
    return csv->text + csv->fields[column];
}

size_t csv_line (const struct csv *csv, size_t row)
{
    return csv->rows[row + 1].line;
}

size_t csv_optional_column (const struct csv *csv, const char *name)
{
    size_t column = 0;
    while (column < csv->columns && strcmp (csv_header (csv, column), name) != 0)
        column++;
    return column;
}

int csv_column (const struct csv *csv, const char *name, size_t *ret, struct pollux_error *err)
{
    size_t column = csv_optional_column (csv, name);
    if (column == csv->columns) {
        struct pollux_error list = {.text = ""};
        size_t used = 0;
        for (size_t i = 0; i < csv->columns && used < sizeof (list.text); i++)
            used += (size_t)snprintf (list.text + used, sizeof (list.text) - used, "%s'%.40s'",
                                      i ? ", " : "", csv_header (csv, i));
        return fail_at (csv, csv->rows[0], csv->rows[0].start, err,
                        "column '%s' is missing: expected it in the header, which has %s", name,
                        list.text);
    }
    *ret = column;
    return 0;
}

const char *csv_string (const struct csv *csv, size_t row, size_t column)
{
    return csv->text + field_offset (csv, row, column);
}

int csv_int64 (const struct csv *csv, size_t row, size_t column, int64_t min, int64_t max,
               int64_t *ret, struct pollux_error *err)
{
    int64_t value;
    int code = number_int64 (csv_string (csv, row, column), &value);
    if (code == 0 && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (min == INT64_MIN && max == INT64_MAX)
        return csv_fail (csv, row, column, err, "expected an integer");
    if (max == INT64_MAX)
        return csv_fail (csv, row, column, err, "expected an integer of at least %" PRId64, min);
    return csv_fail (csv, row, column, err, "expected an integer from %" PRId64 " to %" PRId64, min,
                     max);
}

int csv_double (const struct csv *csv, size_t row, size_t column, double min, double max,
                double *ret, struct pollux_error *err)
{
    double value;
    int code = number_double (csv_string (csv, row, column), &value);
    if (code == 0 && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (isinf (min) && isinf (max))
        return csv_fail (csv, row, column, err, "expected a finite number");
    if (isinf (max))
        return csv_fail (csv, row, column, err, "expected a number of at least %g", min);
    return csv_fail (csv, row, column, err, "expected a number from %g to %g", min, max);
}
