/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs between marked lines: no line of a log looks like a mark, however it is divided into blocks.
 */
#include "unit.h"

#include "api/log_headers.h"

enum { SIZE = 256 };

/* The text copied in blocks of at most `block` bytes. */
static void copy (const char *text, size_t block, char ret[SIZE])
{
    struct log_lines lines = {0};
    size_t length = strlen (text), used = 0;
    for (size_t at = 0; at < length; at += block) {
        char part[SIZE];
        size_t size = length - at < block ? length - at : block;
        size_t made = log_lines_copy (&lines, text + at, size, part);
        assert_true (made <= size + size / 3 + 3);
        memcpy (ret + used, part, made);
        used += made;
    }
    used += log_lines_end (&lines, ret + used);
    ret[used] = '\0';
    assert_int_equal (lines.held, 0);
}

static void marks_are_told_apart (void **state)
{
    (void)state;
    static const struct {
        const char *text, *copied;
    } cases[] = {
        {"", ""},
        {"a\nb\n", "a\nb\n"},
        {"no newline", "no newline\n"},
        {"==> job a <==\n", " ==> job a <==\n"},
        {"x\n==>y", "x\n ==>y\n"},
        {" ==> indented\n", " ==> indented\n"},
        {"in ==> line\n", "in ==> line\n"},
        {"=====\n==\n=\n", "=====\n==\n=\n"},
        {"==", "==\n"},
        {"==>", " ==>\n"},
        {"\n\n==>\n==>\n", "\n\n ==>\n ==>\n"},
        {"===>\n", "===>\n"},
        {"=\n=>\n", "=\n=>\n"},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        for (size_t block = 1; block <= 8; block++) {
            char copied[SIZE];
            copy (cases[i].text, block, copied);
            assert_string_equal (copied, cases[i].copied);
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (marks_are_told_apart)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
