/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV reader: accepted tables and their values, refusals and their places, the limits, and files
 * that are not tables.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"

/* ---- What is accepted --------------------------------------------------------------------- */

/* A text and its table: all fields, the header first, with a '|' after each field and a line break
 * after each row. */
static const struct {
    const char *name, *text, *table;
} accepted[] = {
    {"plain", "a,b\n1,2\n3,4\n", "a|b|\n1|2|\n3|4|\n"},
    {"no line end at the end", "a,b\n1,2", "a|b|\n1|2|\n"},
    {"CRLF", "a,b\r\n1,2\r\n", "a|b|\n1|2|\n"},
    {"CRLF, no line end at the end", "a,b\r\n1,2", "a|b|\n1|2|\n"},
    {"line ends mixed", "a,b\r\n1,2\n3,4\r\n", "a|b|\n1|2|\n3|4|\n"},
    {"byte-order mark",
     "\xef\xbb\xbf"
     "a,b\n1,2\n",
     "a|b|\n1|2|\n"},
    {"blank lines", "\n \t\na,b\n\n1,2\n  \r\n\r\n3,4\n\n\n", "a|b|\n1|2|\n3|4|\n"},
    {"blanks around fields", " a ,\tb\n 1 , 2\t\nx y,  z  \n", "a|b|\n1|2|\nx y|z|\n"},
    {"empty fields", "a,b,c\n,,\n1,,\n,,3\n", "a|b|c|\n|||\n1|||\n||3|\n"},
    {"one column", "a\n1\n\n2\n", "a|\n1|\n2|\n"},
    {"an empty field in one column", "a\n\"\"\n", "a|\n|\n"},
    {"header only", "a,b\n", "a|b|\n"},
    {"header only, no line end", "a,b", "a|b|\n"},
    {"quotes", "\"a\",b\n\"1\",\"2\"\n", "a|b|\n1|2|\n"},
    {"comma in quotes", "a,b\n\"1,5\",2\n", "a|b|\n1,5|2|\n"},
    {"quotes in quotes", "a,b\n\"say \"\"hi\"\"\",\"\"\"\"\n", "a|b|\nsay \"hi\"|\"|\n"},
    {"blanks in and around quotes", "a,b\n \" x \" ,\" \"\n", "a|b|\n x | |\n"},
    {"quotes with CRLF", "a,b\r\n\"1\",\"2\"\r\n", "a|b|\n1|2|\n"},
    {"quotes at the file's end", "a\n\"1\"", "a|\n1|\n"},
    {"UTF-8", "näme,b\nÅngström,名前\n", "näme|b|\nÅngström|名前|\n"},
    {"columns without names", ",a,\n0,1,2\n", "|a||\n0|1|2|\n"},
    {"a hash is no comment", "a,b\n#1,2\n", "a|b|\n#1|2|\n"},
};

static void append (char *to, size_t size, const char *text)
{
    assert_true (strlen (to) + strlen (text) < size);
    strcat (to, text);
}

static void test_accepted (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (accepted); i++) {
        struct csv *csv;
        struct pollux_error err;
        if (csv_parse ("t.csv", accepted[i].text, strlen (accepted[i].text), &csv, &err) < 0)
            fail_msg ("%s: %s", accepted[i].name, err.text);
        char table[256] = "";
        for (size_t column = 0; column < csv_columns (csv); column++) {
            append (table, sizeof (table), csv_header (csv, column));
            append (table, sizeof (table), "|");
        }
        append (table, sizeof (table), "\n");
        for (size_t row = 0; row < csv_rows (csv); row++) {
            for (size_t column = 0; column < csv_columns (csv); column++) {
                append (table, sizeof (table), csv_string (csv, row, column));
                append (table, sizeof (table), "|");
            }
            append (table, sizeof (table), "\n");
        }
        if (strcmp (table, accepted[i].table) != 0)
            fail_msg ("%s: got %s", accepted[i].name, table);
        csv_free (csv);
    }
}

/* ---- What is refused ---------------------------------------------------------------------- */

/* With the whole message: the place is part of the contract. */
#define TEXT(text) text, sizeof (text) - 1
static const struct {
    const char *text;
    size_t length;
    const char *sentence;
} refused[] = {
    {TEXT (""), "t.csv:1:1: empty file: expected a line that names the columns"},
    {TEXT ("\xef\xbb\xbf"), "t.csv:1:1: empty file: expected a line that names the columns"},
    {TEXT ("\n\r\n  \n"), "t.csv:1:1: empty file: expected a line that names the columns"},
    {TEXT ("a,b\n1\n"), "t.csv:2:1: too few fields: expected 2 as in the header, got 1"},
    {TEXT ("a,b\n\n1,2\n3"), "t.csv:4:1: too few fields: expected 2 as in the header, got 1"},
    {TEXT ("a,b\n1,2,3\n"), "t.csv:2:5: too many fields: expected 2"},
    {TEXT ("a,b\n1,2,\n"), "t.csv:2:5: too many fields: expected 2"},
    {TEXT ("a, b,a\n"), "t.csv:1:6: column 'a' appears twice: expected different names"},
    {TEXT ("\xef\xbb\xbf"
           "a,a\n"),
     "t.csv:1:3: column 'a' appears twice: expected different names"},
    {TEXT ("a,b\n1,\"2\n3,4\n"),
     "t.csv:2:3: quote is never closed: expected another one in the same line"},
    {TEXT ("a,b\n1,\"2"),
     "t.csv:2:3: quote is never closed: expected another one in the same line"},
    {TEXT ("a,b\n1,\"2\"\""),
     "t.csv:2:3: quote is never closed: expected another one in the same line"},
    {TEXT ("a,b\n1,\"2\"x\n"), "t.csv:2:6: expected a comma or the line's end after the quote"},
    {TEXT ("a,b\n1,2\"\n"), "t.csv:2:4: quote inside a field: expected the whole field in quotes, "
                            "with quotes inside doubled"},
    {TEXT ("a,b\r1,2\r"),
     "t.csv:1:4: carriage return inside a line: expected lines that end in LF or CRLF"},
    {TEXT ("a,b\n\"1\r2\",2\n"),
     "t.csv:2:3: carriage return inside a line: expected lines that end in LF or CRLF"},
    {TEXT ("a,b\n1,\0\n"), "t.csv:2:3: control character 0x00: expected a text file"},
    {TEXT ("a,b\n1,x\x1b[31m\n"), "t.csv:2:4: control character 0x1b: expected a text file"},
    {TEXT ("a,b\n\"é\"\"é\x7f\",2\n"), "t.csv:2:6: control character 0x7f: expected a text file"},
    {TEXT ("\x7f"
           "ELF\x02\x01\x01\0\0"),
     "t.csv:1:1: control character 0x7f: expected a text file"},
    {TEXT ("a,b\n1,\xff\n"), "t.csv:2:3: byte 0xff: expected text in UTF-8"},
    {TEXT ("a,b\né,\xe9\n"), "t.csv:2:3: byte 0xe9: expected text in UTF-8"},
    {TEXT ("\xff\xfe"
           "a\0,\0b\0"),
     "t.csv:1:1: byte 0xff: expected text in UTF-8"},
};

static void test_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (refused); i++) {
        struct csv *csv = NULL;
        struct pollux_error err = {.text = ""};
        int code = csv_parse ("t.csv", refused[i].text, refused[i].length, &csv, &err);
        assert_string_equal (err.text, refused[i].sentence);
        assert_int_equal (code, -EINVAL);
        assert_null (csv);
        assert_int_equal (csv_parse ("t.csv", refused[i].text, refused[i].length, &csv, NULL),
                          -EINVAL);
    }
}

/* ---- Columns and numbers ------------------------------------------------------------------ */

static struct csv *parse (const char *text)
{
    struct csv *csv;
    struct pollux_error err;
    if (csv_parse ("t.csv", text, strlen (text), &csv, &err) < 0)
        fail_msg ("%s", err.text);
    return csv;
}

static void test_columns (void **state)
{
    (void)state;
    struct csv *csv = parse ("\nnodes, replicas ,\"local, bsz\"\n");
    size_t column = 99;
    assert_int_equal (csv_column (csv, "replicas", &column, NULL), 0);
    assert_int_equal (column, 1);
    assert_int_equal (csv_column (csv, "local, bsz", &column, NULL), 0);
    assert_int_equal (column, 2);
    assert_int_equal (csv_optional_column (csv, "nodes"), 0);
    assert_int_equal (csv_optional_column (csv, "weight"), 3);
    struct pollux_error err;
    assert_int_equal (csv_column (csv, "node", &column, &err), -EINVAL);
    assert_int_equal (column, 2);
    assert_string_equal (err.text, "t.csv:2:1: column 'node' is missing: expected it in the "
                                   "header, which has 'nodes', 'replicas', 'local, bsz'");
    assert_int_equal (csv_expect_rows (csv, &err), -EINVAL);
    assert_string_equal (err.text,
                         "t.csv:3:1: no data: expected at least one row below the header");
    csv_free (csv);
    csv = parse ("a\n1");
    assert_int_equal (csv_expect_rows (csv, &err), 0);
    csv_free (csv);
}

static void test_integers (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t min, max;
        const char *wrong; /* part of the message, or NULL */
        int64_t value;
    } cases[] = {
        {"7", 1, 10, NULL, 7},
        {"+7", 1, 10, NULL, 7},
        {"-7", -10, 10, NULL, -7},
        {"007", 1, 10, NULL, 7},
        {"1", 1, 10, NULL, 1},
        {"10", 1, 10, NULL, 10},
        {"9223372036854775807", INT64_MIN, INT64_MAX, NULL, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, NULL, INT64_MIN},
        {"0", 1, 10, "expected an integer from 1 to 10, got '0'", 0},
        {"11", 1, 10, "expected an integer from 1 to 10, got '11'", 0},
        {"0", 1, INT64_MAX, "expected an integer of at least 1, got '0'", 0},
        {"9223372036854775808", INT64_MIN, INT64_MAX,
         "expected an integer, got '9223372036854775808'", 0},
        {"-9223372036854775809", INT64_MIN, INT64_MAX,
         "expected an integer, got '-9223372036854775809'", 0},
        {"1.0", 1, 10, "expected an integer from 1 to 10, got '1.0'", 0},
        {"1e1", 1, 10, "expected an integer from 1 to 10, got '1e1'", 0},
        {"0x7", 1, 10, "expected an integer from 1 to 10, got '0x7'", 0},
        {"7 8", 1, 10, "expected an integer from 1 to 10, got '7 8'", 0},
        {"--7", 1, 10, "expected an integer from 1 to 10, got '--7'", 0},
        {"-", 1, 10, "expected an integer from 1 to 10, got '-'", 0},
        {"nan", 1, 10, "expected an integer from 1 to 10, got 'nan'", 0},
        {"", 1, 10, "expected an integer from 1 to 10, got nothing", 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char text[64], sentence[256];
        snprintf (text, sizeof (text), "a,b\n1, %s\n", cases[i].text);
        struct csv *csv = parse (text);
        int64_t value = -99;
        struct pollux_error err = {.text = ""};
        int code = csv_int64 (csv, 0, 1, cases[i].min, cases[i].max, &value, &err);
        if (cases[i].wrong) {
            snprintf (sentence, sizeof (sentence), "t.csv:2:4: column 'b': %s", cases[i].wrong);
            assert_string_equal (err.text, sentence);
            assert_int_equal (code, -EINVAL);
            assert_int_equal (value, -99);
        } else {
            assert_int_equal (code, 0);
            assert_int_equal (value, cases[i].value);
        }
        csv_free (csv);
    }
}

static void test_doubles (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double min, max;
        const char *wrong;
        double value;
    } cases[] = {
        {"0.25", 0, 1, NULL, 0.25},
        {"-1.5e3", -INFINITY, INFINITY, NULL, -1500},
        {"1e-9", 1e-9, 1e9, NULL, 1e-9},
        {"1000000000", 1e-9, 1e9, NULL, 1e9},
        {".5", 0, 1, NULL, 0.5},
        {"5.", 0, 10, NULL, 5},
        {"+1E+2", 0, 100, NULL, 100},
        {"1e-999", 0, 1, NULL, 0},
        {"1.1e9", 1e-9, 1e9, "expected a number from 1e-09 to 1e+09, got '1.1e9'", 0},
        {"-1", 0, INFINITY, "expected a number of at least 0, got '-1'", 0},
        {"1e999", -INFINITY, INFINITY, "expected a finite number, got '1e999'", 0},
        {"nan", -INFINITY, INFINITY, "expected a finite number, got 'nan'", 0},
        {"NaN", 0, 1, "expected a number from 0 to 1, got 'NaN'", 0},
        {"-nan", 0, 1, "expected a number from 0 to 1, got '-nan'", 0},
        {"inf", 0, INFINITY, "expected a number of at least 0, got 'inf'", 0},
        {"Infinity", 0, 1, "expected a number from 0 to 1, got 'Infinity'", 0},
        {"0x1p3", 0, 10, "expected a number from 0 to 10, got '0x1p3'", 0},
        {"1,5", 0, 10, "expected a number from 0 to 10, got '1,5'", 0},
        {"1e", 0, 10, "expected a number from 0 to 10, got '1e'", 0},
        {"1e+", 0, 10, "expected a number from 0 to 10, got '1e+'", 0},
        {"1.2.3", 0, 10, "expected a number from 0 to 10, got '1.2.3'", 0},
        {".", 0, 10, "expected a number from 0 to 10, got '.'", 0},
        {"1 s", 0, 10, "expected a number from 0 to 10, got '1 s'", 0},
        {"", 0, 10, "expected a number from 0 to 10, got nothing", 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char text[64], sentence[256];
        snprintf (text, sizeof (text), "a,b\n\"é\",\"%s\"\n", cases[i].text);
        struct csv *csv = parse (text);
        double value = -99;
        struct pollux_error err = {.text = ""};
        int code = csv_double (csv, 0, 1, cases[i].min, cases[i].max, &value, &err);
        if (cases[i].wrong) {
            snprintf (sentence, sizeof (sentence), "t.csv:2:6: column 'b': %s", cases[i].wrong);
            assert_string_equal (err.text, sentence);
            assert_int_equal (code, -EINVAL);
            assert_true (value == -99);
        } else {
            assert_int_equal (code, 0);
            assert_true (value == cases[i].value);
        }
        csv_free (csv);
    }
}

/* Columns are counted in the original line, not after splitting. */
static void test_places (void **state)
{
    (void)state;
    struct csv *csv = parse ("\xef\xbb\xbf"
                             "a,b,c\r\n\r\n1,2,3\r\n \"ä\"\"b\"\"\" , 名,\"x\"\r\n");
    assert_int_equal (csv_line (csv, 0), 3);
    assert_int_equal (csv_line (csv, 1), 4);
    struct pollux_error err;
    csv_fail (csv, 0, 2, &err, "expected %d", 4);
    assert_string_equal (err.text, "t.csv:3:5: column 'c': expected 4, got '3'");
    csv_fail (csv, 1, 0, &err, "expected more");
    assert_string_equal (err.text, "t.csv:4:3: column 'a': expected more, got 'ä\"b\"'");
    csv_fail (csv, 1, 1, &err, "expected more");
    assert_string_equal (err.text, "t.csv:4:13: column 'b': expected more, got '名'");
    csv_fail (csv, 1, 2, &err, "expected more");
    assert_string_equal (err.text, "t.csv:4:16: column 'c': expected more, got 'x'");
    csv_free (csv);
}

/* With long names and fields the message still has the place and what was expected. */
static void test_long_names (void **state)
{
    (void)state;
    char text[2000], path[1000];
    size_t half = sizeof (text) / 2;
    memset (text, 'c', sizeof (text));
    text[half] = '\n';
    for (size_t i = half + 1; i + 1 < sizeof (text); i += 2)
        memcpy (text + i, "é", 2);
    memset (path, 'p', sizeof (path));
    memcpy (path + sizeof (path) - 7, "/t.csv", 7);
    struct csv *csv;
    assert_int_equal (csv_parse (path, text, sizeof (text) - 1, &csv, NULL), 0);
    struct pollux_error err;
    csv_fail (csv, 0, 0, &err, "expected a name that ends");
    assert_non_null (strstr (err.text, "pp/t.csv:2:1: column 'ccc"));
    assert_non_null (strstr (err.text, "...': expected a name that ends, got 'ééé"));
    assert_string_equal (err.text + strlen (err.text) - 4, "...'");
    csv_free (csv);
}

/* ---- Limits ------------------------------------------------------------------------------- */

/* Both sides of each limit. */
static void test_limits (void **state)
{
    (void)state;
    size_t size = CSV_ROW_LIMIT + 16;
    char *text = malloc (size);
    assert_non_null (text);
    struct csv *csv;
    struct pollux_error err;
    for (size_t extra = 0; extra < 2; extra++) {
        size_t length = CSV_ROW_LIMIT + extra;
        memcpy (text, "a\n", 2);
        memset (text + 2, 'x', length);
        text[2 + length] = '\n';
        int code = csv_parse ("t.csv", text, length + 3, &csv, &err);
        if (extra == 0) {
            assert_int_equal (code, 0);
            assert_int_equal (strlen (csv_string (csv, 0, 0)), length);
            csv_free (csv);
        } else {
            assert_int_equal (code, -EINVAL);
            assert_string_equal (err.text,
                                 "t.csv:2:65538: line too long: expected at most 65536 bytes");
        }
    }
    for (size_t extra = 0; extra < 2; extra++) {
        size_t commas = CSV_COLUMNS_LIMIT - 1 + extra;
        memset (text, ',', commas);
        int code = csv_parse ("t.csv", text, commas, &csv, &err);
        if (extra == 0) {
            assert_int_equal (code, 0);
            assert_int_equal (csv_columns (csv), CSV_COLUMNS_LIMIT);
            csv_free (csv);
        } else {
            assert_int_equal (code, -EINVAL);
            assert_string_equal (err.text, "t.csv:1:1025: too many fields: expected at most 1024");
        }
    }
    assert_int_equal (csv_parse ("t.csv", text, CSV_FILE_LIMIT + 1, &csv, &err), -EFBIG);
    assert_string_equal (err.text, "t.csv: too large: expected at most 268435456 bytes");
    free (text);
}

/* ---- Files -------------------------------------------------------------------------------- */

static int make_folder (void **state)
{
    char path[64];
    snprintf (path, sizeof (path), "%s/test_csv.XXXXXX", temporary_folder ());
    *state = strdup (path);
    return *state && mkdtemp (*state) && chdir (*state) == 0 ? 0 : -1;
}

static int remove_folder (void **state)
{
    unlink ("t.csv");
    int code = chdir ("/") == 0 && rmdir (*state) == 0 ? 0 : -1;
    free (*state);
    return code;
}

static void test_million_rows (void **state)
{
    (void)state;
    enum { ROWS = 1000000 };
    FILE *file = fopen ("t.csv", "w");
    assert_non_null (file);
    fputs ("nodes,replicas,grad_s\r\n", file);
    for (int i = 0; i < ROWS; i++)
        fprintf (file, "%d,%d,%.6f\r\n", i % 16 + 1, i, i * 1e-6);
    assert_int_equal (fclose (file), 0);
    struct csv *csv;
    struct pollux_error err;
    assert_int_equal (csv_read ("t.csv", &csv, &err), 0);
    assert_int_equal (csv_rows (csv), ROWS);
    for (int i = 0; i < ROWS; i++) {
        int64_t nodes = 0, replicas = 0;
        double grad_s = 0;
        if (csv_int64 (csv, (size_t)i, 0, 1, 16, &nodes, &err) < 0 ||
            csv_int64 (csv, (size_t)i, 1, 0, ROWS, &replicas, &err) < 0 ||
            csv_double (csv, (size_t)i, 2, 0, 1, &grad_s, &err) < 0)
            fail_msg ("%s", err.text);
        if (nodes != i % 16 + 1 || replicas != i || fabs (grad_s - i * 1e-6) > 1e-12)
            fail_msg ("row %d is wrong", i);
    }
    int64_t value;
    assert_int_equal (csv_int64 (csv, ROWS - 1, 1, 0, 9, &value, &err), -EINVAL);
    assert_non_null (strstr (err.text, "t.csv:1000001:"));
    csv_free (csv);
}

static void test_no_tables (void **state)
{
    (void)state;
    struct csv *csv;
    struct pollux_error err;
    assert_int_equal (csv_read ("nosuch.csv", &csv, &err), -ENOENT);
    assert_string_equal (err.text, "nosuch.csv: cannot read: No such file or directory");
    assert_int_equal (csv_read (".", &csv, &err), -EISDIR);
    assert_string_equal (err.text, ".: cannot read: Is a directory; expected a file");
    assert_int_equal (csv_read ("/dev/null", &csv, &err), -EINVAL);
    assert_string_equal (err.text,
                         "/dev/null:1:1: empty file: expected a line that names the columns");
    /* Above the limit without being read: a sparse file takes no disk space. */
    int fd = open ("t.csv", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true (fd >= 0);
    assert_int_equal (ftruncate (fd, (off_t)CSV_FILE_LIMIT + 1), 0);
    close (fd);
    assert_int_equal (csv_read ("t.csv", &csv, &err), -EFBIG);
    assert_string_equal (err.text, "t.csv: too large: expected at most 268435456 bytes");
}

static void test_unreadable (void **state)
{
    (void)state;
    int fd = open ("t.csv", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true (fd >= 0);
    assert_int_equal (fchmod (fd, 0), 0);
    close (fd);
    /* root may read everything: become the user nobody. */
    bool super = geteuid () == 0;
    if (super)
        assert_int_equal (chmod (".", 0755) | seteuid (65534), 0);
    struct csv *csv;
    struct pollux_error err;
    int code = csv_read ("t.csv", &csv, &err);
    if (super)
        assert_int_equal (seteuid (0), 0);
    assert_int_equal (code, -EACCES);
    assert_string_equal (err.text, "t.csv: cannot read: Permission denied");
}

/* A pipe has no known size and delivers pieces. */
static void test_standard_input (void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    FILE *file = fopen ("t.csv", "w");
    assert_non_null (file);
    fputs ("a,b\n", file);
    for (int i = 0; i < ROWS; i++)
        fprintf (file, "%d,x\n", i);
    assert_int_equal (fclose (file), 0);
    FILE *pipe = popen ("cat t.csv", "r");
    assert_non_null (pipe);
    int saved = dup (STDIN_FILENO);
    assert_true (dup2 (fileno (pipe), STDIN_FILENO) >= 0);
    struct csv *csv;
    struct pollux_error err;
    int code = csv_read ("-", &csv, &err);
    dup2 (saved, STDIN_FILENO);
    close (saved);
    assert_int_equal (pclose (pipe), 0);
    assert_int_equal (code, 0);
    assert_int_equal (csv_rows (csv), ROWS);
    assert_string_equal (csv_string (csv, ROWS - 1, 0), "99999");
    int64_t value;
    assert_int_equal (csv_int64 (csv, 0, 1, 0, 9, &value, &err), -EINVAL);
    assert_string_equal (
        err.text, "standard input:2:3: column 'b': expected an integer from 0 to 9, got 'x'");
    csv_free (csv);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_accepted),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_columns),
        cmocka_unit_test (test_integers),
        cmocka_unit_test (test_doubles),
        cmocka_unit_test (test_places),
        cmocka_unit_test (test_long_names),
        cmocka_unit_test (test_limits),
        cmocka_unit_test_setup_teardown (test_million_rows, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown (test_no_tables, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown (test_unreadable, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown (test_standard_input, make_folder, remove_folder),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
